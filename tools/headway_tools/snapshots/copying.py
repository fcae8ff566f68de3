"""Copying into a branch what snapshots do not hold: dependency folders and large files.

The source may have been changed by an agent since: no symbolic link is followed on the way.
"""

import contextlib
import os
import stat
from collections.abc import Iterable, Iterator
from pathlib import Path

from headway_tools.snapshots.entries import Note
from headway_tools.snapshots.rules import is_cache
from headway_tools.snapshots.writer import TreeWriter

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_CHUNK = 64 << 20


def copy_unkept(original: Path, notes: Iterable[Note], writer: TreeWriter) -> None:
    """Copy each noted path from `original` as it is now; what is gone or unreadable is left."""
    for note in notes:
        if not _is_wanted(note):
            continue
        with contextlib.suppress(FileNotFoundError, NotADirectoryError, PermissionError):
            folder, _, name = note.raw.rpartition(b"/")
            with _opened(original, folder) as source:
                _copy(source, writer.folder(folder), name)


def _is_wanted(note: Note) -> bool:
    if note.reason == "excluded":
        return not is_cache(note.raw)
    return note.reason in ("too_large", "store_full")


@contextlib.contextmanager
def _opened(root: Path, path: bytes) -> Iterator[int]:
    handle = os.open(root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        for name in path.split(b"/") if path else ():
            below = os.open(name, _FOLDER, dir_fd=handle)
            os.close(handle)
            handle = below
        yield handle
    finally:
        os.close(handle)


def _copy(source: int, target: int, name: bytes) -> None:
    """One entry of the folder `source` into the folder `target`; devices and the like are left."""
    status = os.stat(name, dir_fd=source, follow_symlinks=False)
    if stat.S_ISLNK(status.st_mode):
        os.symlink(os.readlink(name, dir_fd=source), name, dir_fd=target)
    elif stat.S_ISDIR(status.st_mode):
        _copy_folder(source, target, name, status)
    elif stat.S_ISREG(status.st_mode):
        _copy_file(source, target, name, status)


def _copy_folder(source: int, target: int, name: bytes, status: os.stat_result) -> None:
    with contextlib.ExitStack() as stack:
        old = os.open(name, _FOLDER, dir_fd=source)
        stack.callback(os.close, old)
        os.mkdir(name, 0o700, dir_fd=target)
        new = os.open(name, _FOLDER, dir_fd=target)
        stack.callback(os.close, new)
        with os.scandir(old) as listing:
            names = [os.fsencode(item.name) for item in listing]
        for below in names:
            with contextlib.suppress(FileNotFoundError, PermissionError):
                _copy(old, new, below)
        _finish(new, status)


def _copy_file(source: int, target: int, name: bytes, status: os.stat_result) -> None:
    old = os.open(name, _FILE, dir_fd=source)
    try:
        new = os.open(name, _NEW, 0o600, dir_fd=target)
        try:
            while os.copy_file_range(old, new, _CHUNK):  # shares blocks where it can
                pass
            _finish(new, status)
        finally:
            os.close(new)
    finally:
        os.close(old)


def _finish(handle: int, status: os.stat_result) -> None:
    if os.geteuid() == 0:
        os.fchown(handle, status.st_uid, status.st_gid)
    os.fchmod(handle, stat.S_IMODE(status.st_mode))
    os.utime(handle, ns=(status.st_mtime_ns, status.st_mtime_ns))
