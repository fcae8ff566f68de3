"""Reading one file into the store: only once per content, never half, never for ever."""

import errno
import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from hashlib import blake2b

from headway_tools.snapshots.entries import Entry, Note, Reason, Xattrs, digest
from headway_tools.snapshots.stats import Known, Stamp, stamp_of
from headway_tools.snapshots.store import PART, Store

# The process has no handle or memory left to look at the file: no property of the file.
_NOT_THE_FILE = (errno.EMFILE, errno.ENFILE, errno.ENOMEM)
_UNBOUNDED = 1 << 62
_TRIES = 3
_FILE_FLAGS = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


@dataclass(frozen=True)
class Limits:
    """Sizes in bytes: of one file, and of the store (None: no bound)."""

    max_file_bytes: int
    max_bytes: int | None


class Reader:
    """Reads what is no folder. `notes` names the files that did not hold still."""

    def __init__(self, store: Store, limits: Limits) -> None:
        self._store = store
        self._max_file_bytes = limits.max_file_bytes
        bound = _UNBOUNDED if limits.max_bytes is None else limits.max_bytes
        self._room = bound - store.used_bytes()
        self.notes: list[Note] = []

    def read(
        self, parent: int, path: bytes, name: bytes, status: os.stat_result, last: Known | None
    ) -> Entry:
        """The entry of something that is no folder; `FileNotFoundError` if it went."""
        mode = stat.S_IMODE(status.st_mode)
        if stat.S_ISLNK(status.st_mode):
            return Entry("link", 0o777, os.readlink(name, dir_fd=parent))
        if stat.S_ISFIFO(status.st_mode):
            return Entry("fifo", mode, b"")
        if not stat.S_ISREG(status.st_mode):
            return unkept("socket" if stat.S_ISSOCK(status.st_mode) else "device", status)
        if status.st_size > self._max_file_bytes:
            return unkept("too_large", status)
        try:
            return self._file(parent, path, name)
        except FileNotFoundError:
            raise
        except OSError as error:
            if error.errno in _NOT_THE_FILE:
                raise
            if last is not None and _same_content(last[0], status):
                return last[1]._replace(mode=mode)
            return unkept("unreadable", status)

    def _file(self, parent: int, path: bytes, name: bytes) -> Entry:
        try:
            handle = os.open(name, _FILE_FLAGS, dir_fd=parent)
        except OSError as error:
            if error.errno in (errno.ELOOP, errno.ENXIO):  # replaced by a link or a socket
                raise FileNotFoundError from error
            raise
        try:
            return self._steady(handle, path)
        finally:
            os.close(handle)

    def _steady(self, handle: int, path: bytes) -> Entry:
        """Read until the file is the same before and after, else say that it was changing."""
        tries = 0
        while True:
            tries += 1
            status = os.fstat(handle)
            if not stat.S_ISREG(status.st_mode):
                raise FileNotFoundError
            if status.st_size > self._max_file_bytes:
                return unkept("too_large", status)
            if status.st_size > self._room and not self._is_stored(handle, status.st_size):
                return unkept("store_full", status)
            found, size = self._content(handle, status.st_size)
            steady = size == status.st_size and stamp_of(os.fstat(handle)) == stamp_of(status)
            if steady or tries == _TRIES:
                break
        if not steady:
            self.notes.append(Note(path, "changed_while_read", size))
        mode = stat.S_IMODE(status.st_mode)
        return Entry("file", mode, found, size, xattrs_of(handle), status.st_mtime_ns)

    def _is_stored(self, handle: int, end: int) -> bool:
        return self._store.has(_hash(_parts(handle, end))[0])

    def _content(self, handle: int, end: int) -> tuple[bytes, int]:
        """Store what is read now, up to `end`; returns its hash and size in bytes."""
        if end > PART:
            found, size = self._large(handle, end)
        else:
            data = os.pread(handle, end, 0)
            found, size = digest(data), len(data)
            if not self._store.has(found):
                self._put(found, 0, data)
        self._store.breathe()
        return found, size

    def _large(self, handle: int, end: int) -> tuple[bytes, int]:
        """Read once for the hash and, if that is new, once more to store, part by part."""
        self._store.begin()
        key, size = _hash(_parts(handle, end))
        if self._store.has(key):
            return key, size
        actual, size = _hash(self._stored(_parts(handle, end), key))
        if actual != key:
            self._store.rename(key, actual)
        return actual, size

    def _stored(self, parts: Iterator[bytes], key: bytes) -> Iterator[bytes]:
        for part, data in enumerate(parts):
            self._put(key, part, data)
            yield data

    def _put(self, key: bytes, part: int, data: bytes) -> None:
        self._room -= self._store.put(key, part, data)


def unkept(reason: Reason, status: os.stat_result) -> Entry:
    """Sizes and times are part of a large file's identity, so that a change shows."""
    regular = stat.S_ISREG(status.st_mode)
    stamp = b" %d" % status.st_mtime_ns if regular else b""
    size = status.st_size if regular else 0
    return Entry("unkept", stat.S_IMODE(status.st_mode), reason.encode() + stamp, size)


def xattrs_of(handle: int) -> Xattrs:
    """The user's extended attributes; none where the file system has none."""
    try:
        names = [name for name in os.listxattr(handle) if name.startswith("user.")]
        return tuple((os.fsencode(n), os.getxattr(handle, n)) for n in sorted(names))
    except OSError:
        return ()


def _same_content(stamp: Stamp, status: os.stat_result) -> bool:
    """The owner took the right to read away, and nothing else changed."""
    return stamp[0] == status.st_mtime_ns and stamp[2:4] == (status.st_size, status.st_ino)


def _parts(handle: int, end: int) -> Iterator[bytes]:
    """The content up to `end`, so that a file that grows as fast as it is read comes to one."""
    at = 0
    while data := os.pread(handle, min(PART, end - at), at):
        yield data
        at += len(data)


def _hash(parts: Iterator[bytes]) -> tuple[bytes, int]:
    hasher, size = blake2b(digest_size=20), 0
    for data in parts:
        hasher.update(data)
        size += len(data)
    return hasher.digest(), size
