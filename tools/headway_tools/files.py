"""Regular files behind a `Place`: refused if they are anything else, read in bounded memory."""

import hashlib
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from headway_tools.beneath import Place
from headway_tools.errors import ToolFailure

WHOLE_LIMIT: Final = 16 * 2**20
"""Bytes up to which a file is read as a whole; only such a file can be edited."""

_KINDS: Final = {
    stat.S_IFIFO: "a FIFO",
    stat.S_IFSOCK: "a socket",
    stat.S_IFCHR: "a character device",
    stat.S_IFBLK: "a block device",
    stat.S_IFLNK: "a link that changed meanwhile",
}


@contextmanager
def open_regular(place: Place, flags: int) -> Iterator[int]:
    """A handle on the regular file at `place`; nothing else is ever opened, so nothing blocks."""
    _require_regular(place.path, place.stat())
    handle = place.open(flags)
    try:
        _require_regular(place.path, os.fstat(handle))
        yield handle
    finally:
        os.close(handle)


def read_whole(handle: int) -> bytes:
    """All bytes of the file, or one more than `WHOLE_LIMIT` of a larger one."""
    return b"".join(read_chunks(handle, WHOLE_LIMIT + 1))


def read_chunks(handle: int, limit: int, size: int = 2**20) -> Iterator[bytes]:
    """The file from its start, in pieces, up to `limit` bytes."""
    offset = 0
    while offset < limit and (chunk := os.pread(handle, min(size, limit - offset), offset)):
        yield chunk
        offset += len(chunk)


def digest(data: bytes) -> str:
    """Identifies a file's content in a `Workspace.reads`."""
    return hashlib.blake2b(data, digest_size=16).hexdigest()


def _require_regular(path: str, info: os.stat_result) -> None:
    kind = stat.S_IFMT(info.st_mode)
    if kind == stat.S_IFDIR:
        raise ToolFailure("is_a_directory", f"{path} is a folder", "name a file in it")
    if kind != stat.S_IFREG:
        what = _KINDS.get(kind, "no regular file")
        raise ToolFailure("not_a_file", f"{path} is {what}", "work without it")
