"""headway's own folder beside a sandbox: HOME, /tmp, start file and programs that refuse.

Made once per sandbox, outside the workspace, kept for the whole thread, not in any snapshot.
"""

import contextlib
import os
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from headway_tools.errors import HeadwayError

_EDITORS: Final = ("vi", "vim", "view", "nvim", "nano", "pico", "emacs", "ed", "joe", "micro")
_REFUSAL: Final = """\
#!/bin/sh
echo "${0##*/}: no terminal here; change files with the edit tool, sed or a script" >&2
exit 1
"""


@dataclass(frozen=True)
class PrivateFolder:
    """Only `home` and `tmp` can be written from inside."""

    path: Path

    @property
    def home(self) -> Path:
        return self.path / "home"

    @property
    def tmp(self) -> Path:
        return self.path / "tmp"

    @property
    def shown(self) -> Path:
        """Shown read-only: `start`, `first` and `last` (folders of PATH), empty things."""
        return self.path / "shown"

    @property
    def start_file(self) -> Path:
        return self.shown / "start"

    @property
    def empty_file(self) -> Path:
        return self.shown / "empty"

    @property
    def empty_folder(self) -> Path:
        return self.shown / "empty.d"

    @property
    def protected(self) -> Path:
        """Bytes of protected files, for putting them back."""
        return self.path / "protected"


def make_private_folder(path: Path, start: str, owner: tuple[int, int] | None) -> PrivateFolder:
    """Create what is missing below `path`; `owner` (uid, gid) gets `home` and `tmp`."""
    folder = PrivateFolder(path)
    try:
        for made in (folder.home, folder.tmp, folder.shown, folder.protected):
            made.mkdir(parents=True, exist_ok=True, mode=0o700)
        folder.tmp.chmod(0o1777)
        folder.shown.chmod(0o755)
        _write_shown(folder, start)
        _write_git_identity(folder.home / ".gitconfig")
        if owner is not None:
            for owned in (folder.home, folder.tmp, folder.home / ".gitconfig"):
                os.chown(owned, *owner, follow_symlinks=False)
    except OSError as error:
        raise HeadwayError(f"cannot write headway's folder {path}: {error.strerror}") from error
    return folder


def clear_way(folder: PrivateFolder, home: Path, targets: Iterable[Path]) -> None:
    """Plain folders for mounts below /tmp and `home`, the places that commands can write.

    A link that an earlier command left there would lead bwrap, which makes mount points with the
    user's rights, out of the sandbox.
    """
    for target in targets:
        for top, place in ((Path("/tmp"), folder.tmp), (home, folder.home)):
            if top in target.parents:
                *above, name = target.relative_to(top).parts
                for part in above:
                    place = place / part
                    _clear(place)
                    place.mkdir(exist_ok=True, mode=0o755)
                _clear(place / name, also_files=target.is_dir())


def _clear(place: Path, *, also_files: bool = True) -> None:
    if place.is_symlink() or (also_files and place.is_file()):
        place.unlink()


def search_path(folder: Path, toolchains: Iterable[str]) -> str:
    """PATH inside: refusing editors first, then the toolchains, then a `python` if none has one."""
    return ":".join([f"{folder}/first", *toolchains, f"{folder}/last"])


def _write_shown(folder: PrivateFolder, start: str) -> None:
    first, last = folder.shown / "first", folder.shown / "last"
    for made in (first, last, folder.empty_folder):
        made.mkdir(exist_ok=True)
    _replace(folder.start_file, start, 0o644)
    _replace(folder.empty_file, "", 0o444)
    for editor in _EDITORS:
        _replace(first / editor, _REFUSAL, 0o755)
    interpreter = os.path.realpath(sys.executable)
    for name in ("python", "python3"):
        link = last / name
        if not link.is_symlink() or str(link.readlink()) != interpreter:
            link.unlink(missing_ok=True)
            with contextlib.suppress(FileExistsError):  # another sandbox of the thread was faster
                link.symlink_to(interpreter)


def _replace(path: Path, text: str, mode: int) -> None:
    """Atomic, since another sandbox may be reading the file; nothing if it is the same."""
    if path.exists() and path.read_text() == text:
        return
    fresh = path.with_name(f".{path.name}.{os.getpid()}.{threading.get_ident()}")
    fresh.write_text(text)
    fresh.chmod(mode)
    fresh.replace(path)


def _write_git_identity(path: Path) -> None:
    """The user's name for commits as the private home's git configuration, once.

    As configuration and not as GIT_AUTHOR_NAME: the repository's own name keeps its precedence.
    """
    if os.path.lexists(path):
        return
    name, email = _git_setting("user.name"), _git_setting("user.email")
    lines = ["[safe]", "\tdirectory = *"]
    if name and email:
        lines += ["[user]", f"\tname = {_quoted(name)}", f"\temail = {_quoted(email)}"]
    path.write_text("\n".join(lines) + "\n")


def _quoted(value: str) -> str:
    return '"' + value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", " ") + '"'


def _git_setting(name: str) -> str:
    """A value of the user's own git configuration; never of a repository."""
    git = shutil.which("git")
    if git is None:
        return ""
    command = [git, "config", "--global", "--get", name]
    done = subprocess.run(command, cwd="/", capture_output=True, check=False)
    return done.stdout.decode("utf-8", "replace").strip()
