"""Which paths of the workspace get a mount of their own for the next command.

Found anew before each command, without following links: what an earlier command put in the
place of a folder must not lead a mount elsewhere.
"""

import os
import stat
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Final

from headway_tools.hidden import HiddenSearch
from headway_tools.links import linked_files, same_files
from headway_tools.patterns import expand
from headway_tools.withheld import place_in

MAX_MOUNTS: Final = 300
"""A bind costs 0.3 ms. What is beyond is held by comparison after the command."""

MAX_HIDDEN: Final = 2000

_GIT_FILES: Final = ("config", "config.worktree", "hooks", "info", "commondir")


@dataclass(frozen=True)
class MountPlan:
    """Relative paths. `pinned`: folders that hold a path that must stay where it is, so that none
    is renamed."""

    pinned: tuple[str, ...]
    read_only: tuple[str, ...]
    hidden_files: tuple[str, ...]
    hidden_folders: tuple[str, ...]


def plan_mounts(
    root: Path, protect: Sequence[str], hidden: HiddenSearch, withheld: Iterable[Path] = ()
) -> MountPlan:
    """The mounts for the workspace at `root` as it is now.

    What is hidden is so under all its names. `withheld` may exist, and lie in it or elsewhere.
    """
    own = places_in(root, withheld)
    read_only = _without(own, held_by_mounts(root, protect))
    named = set(islice(hidden.find(root), MAX_HIDDEN))
    leads_to = set(filter(None, (_real_target(root, path) for path in named)))
    unseen = _without(own, _outermost(sorted(leads_to | _other_names(root, leads_to))))
    movable = [path for path in unseen if path not in named or not hidden.by_name]
    kept_out = (*own, *unseen)
    kinds = {path: os.lstat(root / path).st_mode for path in kept_out}
    return MountPlan(
        pinned=tuple(sorted(_ancestors([*read_only, *own, *movable]))),
        read_only=tuple(read_only),
        hidden_files=tuple(sorted(path for path, mode in kinds.items() if stat.S_ISREG(mode))),
        hidden_folders=tuple(sorted(path for path, mode in kinds.items() if stat.S_ISDIR(mode))),
    )


def held_by_mounts(root: Path, protect: Sequence[str]) -> list[str]:
    """The protected paths that get a mount: outermost ones, at most `MAX_MOUNTS`."""
    existing = {path for path in protected_paths(root, protect) if _is_real(root, path)}
    return _outermost(sorted(existing))[:MAX_MOUNTS]


def places_in(folder: Path, paths: Iterable[Path]) -> list[str]:
    """Where the outermost of `paths` that exist lie in `folder`."""
    existing = (place_in(folder, path) for path in paths if os.access(path, os.F_OK))
    return _outermost(sorted({*filter(None, existing)}))


def protected_paths(root: Path, protect: Sequence[str]) -> Iterator[str]:
    """git's own files, what `protect` matches, and what matching links lead to in the workspace."""
    yield from git_paths(root)
    for path in expand(root, protect):
        yield path
        if (root / path).is_symlink() and (target := _real_target(root, path)):
            yield target


def git_paths(root: Path) -> Iterator[str]:
    """What the user's git obeys or runs, of the repository at the top and its submodules.

    Of an existing repository only: `git init` inside stays possible. Names that do not exist are
    given, too: `.git/commondir`, once created, makes git read its configuration elsewhere.
    """
    top = root / ".git"
    if top.is_file() and not top.is_symlink():
        yield ".git"
    if not _is_real(root, ".git") or not top.is_dir():
        return
    yield from (f".git/{name}" for name in _GIT_FILES)
    for folder, names, files in os.walk(top / "modules"):
        if "HEAD" in files and "objects" in names:
            inside = Path(folder).relative_to(root).as_posix()
            yield from (f"{inside}/{name}" for name in _GIT_FILES)
            names[:] = [name for name in names if name == "modules"]


def repository_of_worktree(root: Path, path: Path) -> Path | None:
    """The `.git` folder elsewhere that the worktree at `root`, known as `path`, belongs to.

    Only where that folder names this worktree, too: the file `.git` is the agent's word.
    """
    try:
        folder = Path((root / ".git").read_text().removeprefix("gitdir:").strip())
        known_as = Path((folder / "gitdir").read_text().strip())
    except (OSError, UnicodeDecodeError):
        return None
    named = known_as in (path / ".git", root / ".git")
    return folder.parents[1] if named and folder.parent.name == "worktrees" else None


def _is_real(root: Path, relative: str) -> bool:
    """A file or folder that exists and is not reached through a link."""
    current = root
    for part in relative.split("/"):
        current = current / part
        try:
            mode = os.lstat(current).st_mode
        except OSError:
            return False
        if not (stat.S_ISDIR(mode) or stat.S_ISREG(mode)):
            return False
    return True


def _real_target(root: Path, relative: str) -> str | None:
    """Where a hidden name leads inside the workspace; None if nowhere, or outside."""
    top = os.path.realpath(root)
    target = os.path.realpath(Path(top, relative))
    inside = target[len(top) + 1 :] if target.startswith(top + "/") else ""
    return inside if inside and _is_real(Path(top), inside) else None


def _other_names(root: Path, hidden: Iterable[str]) -> set[str]:
    """Further names in the workspace of hidden files, and of files in hidden folders."""
    linked = {one for path in hidden for one in linked_files(root / path)}
    return set(same_files(root, linked)) if linked else set()


def _outermost(paths: Sequence[str]) -> list[str]:
    known = set(paths)
    return [path for path in paths if not known & set(_ancestors([path]))]


def _without(tops: Sequence[str], paths: Iterable[str]) -> list[str]:
    """`paths` that are none of `tops` and not below one."""
    return [path for path in paths if path not in tops and not _ancestors([path]) & set(tops)]


def _ancestors(paths: Iterable[str]) -> set[str]:
    return {
        "/".join(parts[:depth])
        for parts in (path.split("/") for path in paths)
        for depth in range(1, len(parts))
    }
