"""Paths that a user gives, each checked once: the workspace, what is protected, what is shown."""

import os
import pwd
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path

from headway_tools.errors import HeadwayError
from headway_tools.home import Home
from headway_tools.patterns import is_glob
from headway_tools.withheld import place_in


def check_workspace(path: Path, *, data_home: Path, unsafe: bool = False) -> Path:
    """`path` made absolute (links kept); `HeadwayError` if it cannot or should not be worked on.

    Refused: headway's data folder and the threads in it, and without `unsafe` what holds that
    folder, `/`, a home, and anything above a home.
    """
    absolute = Path.cwd() / path.expanduser()
    if not absolute.is_dir():
        found = "is not a folder" if os.path.lexists(absolute) else "does not exist"
        raise HeadwayError(f"workspace {absolute} {found}: name an existing folder")
    real, data = absolute.resolve(), data_home.expanduser().resolve()
    if real == data or real.is_relative_to(Home(data).threads):
        raise HeadwayError(f"workspace {absolute} is headway's own data: choose a project folder")
    if not unsafe and (reason := _unsafe(real, data)):
        raise HeadwayError(
            f"workspace {absolute} {reason}: choose a project folder below it, "
            "or pass --unsafe-workspace (in Python unsafe_workspace=True)"
        )
    return absolute


def _unsafe(real: Path, data: Path) -> str:
    if real == Path("/"):
        return "is the whole file system"
    homes = {home.resolve() for home in _homes()}
    if real in homes or real.parent == Path("/home"):
        return "is a home folder"
    if any(home.is_relative_to(real) for home in homes) or real == Path("/home"):
        return "holds home folders"
    return "holds headway's own data folder" if data.is_relative_to(real) else ""


def _homes() -> Iterator[Path]:
    yield Path("/root")
    if home := os.environ.get("HOME"):
        yield Path(home)
    with suppress(KeyError):
        yield Path(pwd.getpwuid(os.geteuid()).pw_dir)


def check_pattern(verb: str, pattern: str, workspace: Path | None) -> str:
    """A pattern to `protect` or `hide` from the workspace's top; `HeadwayError` if it leads out."""
    name = pattern.removeprefix("!")
    sign = pattern[: len(pattern) - len(name)]
    if workspace is not None and name.startswith("/"):
        for top in (workspace, workspace.resolve()):
            if Path(name).is_relative_to(top):
                return sign + Path(name).relative_to(top).as_posix()
    if name.startswith("/") or ".." in name.split("/") or not name.strip("./"):
        where = workspace or "the workspace"
        raise HeadwayError(f"cannot {verb} {pattern!r}: name a file, folder or glob in {where}")
    return pattern


def require_protected(workspace: Path, patterns: Sequence[str]) -> None:
    """`HeadwayError` for the plain name of something that is not there, a misspelt one most likely.

    A glob may match nothing yet: it holds for what comes later.
    """
    for pattern in patterns:
        plain = not is_glob(pattern) and not pattern.startswith("!")
        if plain and not os.path.lexists(workspace / pattern):
            raise HeadwayError(
                f"cannot protect {pattern!r}: {workspace} has no such file or folder; "
                f"to protect it before it is there, write a glob that matches it"
            )


def check_shown(path: Path, workspace: Path | None, data_home: Path) -> Path:
    """A path of `read_only` made absolute; `HeadwayError` if commands could not read it there."""
    absolute = Path.cwd() / path.expanduser()
    if not os.access(absolute, os.R_OK):
        found = "may not be read" if os.path.lexists(absolute) else "does not exist"
        raise HeadwayError(f"--ro {absolute} {found}: name a file or folder that you can read")
    if workspace is not None and place_in(workspace, absolute):
        raise HeadwayError(
            f"--ro {absolute} lies in the workspace, where commands write: use --protect"
        )
    if place_in(data_home, absolute):
        raise HeadwayError(f"--ro {absolute} is headway's own data: name another folder")
    return absolute
