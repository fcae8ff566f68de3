"""Putting new content in the place of a file: all or nothing, its attributes kept.

The new file is made beside the old one, gets its owner, mode and extended attributes, is synced,
and the two names are exchanged; if what came out is not what was read, they are exchanged back.
"""

import ctypes
import os
import re
import secrets
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager, suppress
from errno import EINVAL, ENOSYS
from functools import cache
from pathlib import Path
from typing import Final

from headway_tools.beneath import Place
from headway_tools.files import digest, read_whole

_NOREPLACE: Final = 1
_EXCHANGE: Final = 2
_TEMPORARY: Final = re.compile(r"\.headway-[0-9a-f]{16}")
_NEW: Final = os.O_WRONLY | os.O_CREAT | os.O_EXCL


class ChangedError(Exception):
    """The file is not, or no more, what was read."""


class AttributesError(Exception):
    """Owner, mode or extended attributes cannot be given to a new file."""


def replace_file(place: Place, old: int, before: bytes, after: bytes) -> None:
    """Put `after` in place of the file open as `old`, whose content is `before`.

    `ChangedError` when another process wrote meanwhile (its content stays), `AttributesError`
    when the attributes cannot be kept; nothing is changed then.
    """
    with _temporary(place, 0o600) as (name, handle):
        _write(handle, after)
        _copy_attributes(old, handle)
        os.fsync(handle)
        _rename(place.parent, name, place.name, _EXCHANGE)
        if _content(place.parent, name) != digest(before):
            os.rename(name, place.name, src_dir_fd=place.parent, dst_dir_fd=place.parent)
            raise ChangedError


def write_in_place(place: Place, old: int, before: bytes, after: bytes) -> None:
    """Write `after` into the file itself: other hard links see it, a crash may leave a mixture."""
    handle = place.open(os.O_RDWR)
    try:
        mode = os.fstat(handle).st_mode
        if os.fstat(handle).st_ino != os.fstat(old).st_ino or read_whole(handle) != before:
            raise ChangedError
        _write(handle, after)
        os.ftruncate(handle, len(after))
        if os.fstat(handle).st_mode != mode:
            os.fchmod(handle, mode & 0o7777)
        os.fsync(handle)
    finally:
        os.close(handle)


def create_file(place: Place, content: bytes) -> None:
    """A new file with the process's umask; FileExistsError if the name is taken."""
    with _temporary(place, 0o666) as (name, handle):
        _write(handle, content)
        parent = os.fstat(place.parent)
        if os.geteuid() == 0 and parent.st_uid != 0:
            os.fchown(handle, parent.st_uid, parent.st_gid)
        os.fsync(handle)
        _rename(place.parent, name, place.name, _NOREPLACE)


def is_temporary(name: str) -> bool:
    """Whether a file of this name is what an interrupted edit left."""
    return _TEMPORARY.fullmatch(name) is not None


def sweep(root: Path, leave: Collection[str] = ()) -> int:
    """Remove what interrupted edits left below `root`, following no links; how many there were.

    Only while nothing edits there: at the opening of a branch, under its lock. What is below the
    paths `leave`, from the top, stays.
    """
    count = 0
    for above, folders, files, folder in os.fwalk(root):
        place = Path(above).relative_to(root)
        folders[:] = [name for name in folders if (place / name).as_posix() not in leave]
        for name in filter(is_temporary, files):
            with suppress(OSError):
                os.unlink(name, dir_fd=folder)
                count += 1
    return count


@contextmanager
def _temporary(place: Place, mode: int) -> Iterator[tuple[str, int]]:
    """A new file beside `place`; whatever stands under its name at the end is removed."""
    name = f".headway-{secrets.token_hex(8)}"
    handle = os.open(name, _NEW | os.O_NOFOLLOW | os.O_CLOEXEC, mode, dir_fd=place.parent)
    try:
        yield name, handle
    finally:
        os.close(handle)
        with suppress(FileNotFoundError):
            os.unlink(name, dir_fd=place.parent)


def _write(handle: int, data: bytes) -> None:
    view, offset = memoryview(data), 0
    while view:
        written = os.pwrite(handle, view, offset)
        view, offset = view[written:], offset + written


def _copy_attributes(source: int, target: int) -> None:
    info, own = os.fstat(source), os.fstat(target)
    try:
        if (info.st_uid, info.st_gid) != (own.st_uid, own.st_gid):
            os.fchown(target, info.st_uid, info.st_gid)
        os.fchmod(target, info.st_mode & 0o7777)
        for name in os.listxattr(source):
            os.setxattr(target, name, os.getxattr(source, name))
    except OSError as error:
        raise AttributesError from error


def _content(folder: int, name: str) -> str:
    flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    try:
        handle = os.open(name, flags, dir_fd=folder)
    except OSError:
        return "unreadable"
    try:
        return digest(read_whole(handle))
    finally:
        os.close(handle)


def _rename(folder: int, source: str, target: str, flag: int) -> None:
    names = os.fsencode(source), os.fsencode(target)
    if _renameat2()(folder, names[0], folder, names[1], flag) == 0:
        return
    code = ctypes.get_errno()
    if code not in (EINVAL, ENOSYS):
        raise OSError(code, os.strerror(code), target)
    if flag == _NOREPLACE:
        os.link(source, target, src_dir_fd=folder, dst_dir_fd=folder)
    else:
        os.rename(source, target, src_dir_fd=folder, dst_dir_fd=folder)


@cache
def _renameat2() -> Callable[..., int]:
    function = ctypes.CDLL(None, use_errno=True).renameat2
    number, text = ctypes.c_int, ctypes.c_char_p
    function.argtypes = [number, text, number, text, ctypes.c_uint]
    function.restype = ctypes.c_int
    return function
