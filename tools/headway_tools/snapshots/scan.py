"""Reading a folder into the store: by directory handles, never through a symbolic link.

One pass over the tree; only files whose stamp is new are read. What cannot be kept becomes an
entry of kind `unkept` and a note; excluded folders become a note only, so that a cache that
appears or goes does not make another snapshot.
"""

import errno
import os
import stat
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from hashlib import blake2b
from typing import NamedTuple

from headway_tools.snapshots.entries import (
    Entry,
    Groups,
    Note,
    Reason,
    Xattrs,
    digest,
    encode_folder,
    encode_times,
    join,
)
from headway_tools.snapshots.rules import RESTORING, TEMPORARY, Exclusions
from headway_tools.snapshots.stats import (
    RACY_NS,
    FolderStats,
    Known,
    Stamp,
    Stats,
    lasting,
    stamp_of,
)
from headway_tools.snapshots.store import PART, Store

MAX_DEPTH = 200  # open handles and stack frames of one scan
# The file itself is gone, or the process has no handle or memory left to look at it.
_NOT_THE_FILE = (errno.ENOENT, errno.EMFILE, errno.ENFILE, errno.ENOMEM)
_UNBOUNDED = 1 << 62
_TRIES = 3
_ENCODING, _ERRORS = sys.getfilesystemencoding(), sys.getfilesystemencodeerrors()
_NOTHING = FolderStats()
_FOLDER_FLAGS = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_FILE_FLAGS = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


class _Place(NamedTuple):
    """Where the scan is: the path below the root, and how deep."""

    path: bytes
    depth: int


@dataclass(frozen=True)
class Limits:
    """Sizes in bytes: of one file, and of the store (None: no bound)."""

    max_file_bytes: int
    max_bytes: int | None


class Scan:
    """One pass over one root.

    Results: `stats` with the paths of `changed` folders, `notes`, `groups`, and `leftovers`, the
    temporary files of a restore that was killed.
    """

    def __init__(
        self,
        store: Store,
        known: Stats,
        exclude: Exclusions,
        limits: Limits,
    ) -> None:
        self._store = store
        self._known = known
        self._exclude = exclude
        self._limits = limits
        self._room = 0
        self._racy_ns = time.time_ns() - RACY_NS
        self._inodes: dict[tuple[int, int], list[bytes]] = {}
        self.stats: Stats = {}
        self.changed: list[bytes] = []
        self.notes: list[Note] = []
        self.leftovers: list[bytes] = []

    def run(self, root: int) -> Entry:
        """Scan the folder behind the handle `root`; returns its entry."""
        max_bytes = self._limits.max_bytes
        self._room = _UNBOUNDED if max_bytes is None else max_bytes - self._store.used_bytes()
        status = os.fstat(root)
        found = self._folder(root, _Place(b"", 0))
        return Entry("folder", stat.S_IMODE(status.st_mode), found, 0, _xattrs(root))

    @property
    def groups(self) -> Groups:
        return tuple(sorted(tuple(sorted(p)) for p in self._inodes.values() if len(p) > 1))

    def _folder(self, handle: int, place: _Place) -> bytes:
        """Scan one folder and store its entries; returns its id."""
        known = self._known.get(place.path, _NOTHING)
        files: dict[bytes, Known] = {}
        entries: dict[bytes, Entry] = {}
        with os.scandir(handle) as listing:
            items = list(listing)  # no handle of the listing stays open further down
        for item in items:
            name = item.name.encode(_ENCODING, _ERRORS)
            try:
                status = item.stat(follow_symlinks=False)
                stamp = stamp_of(status)
                last = known.files.get(name)
                if last is not None and last[0] == stamp:
                    files[name] = last
                    entry: Entry | None = last[1]
                else:
                    entry = self._look(handle, place, name, status, last)
            except FileNotFoundError:
                continue
            if entry is None:
                continue
            entries[name] = entry
            if entry.kind == "folder" or entry.kind == "unkept":
                continue
            if name not in files:
                files[name] = lasting(stamp, self._racy_ns), entry
            if status.st_nlink > 1 and entry.kind == "file":
                inode = status.st_dev, status.st_ino
                self._inodes.setdefault(inode, []).append(join(place.path, name))
        return self._keep_folder(place.path, known, files, entries)

    def _look(
        self, parent: int, place: _Place, name: bytes, status: os.stat_result, last: Known | None
    ) -> Entry | None:
        """The entry of something new, changed or a folder; None if it is left out."""
        path = join(place.path, name)
        if name.startswith(TEMPORARY):
            if name.startswith(RESTORING):
                self.leftovers.append(path)
            return None
        if not stat.S_ISDIR(status.st_mode):
            entry = self._read(parent, path, name, status, last)
        elif self._exclude.match(place.path, name):
            self.notes.append(Note(path, "excluded"))
            return None
        else:
            below = _Place(path, place.depth + 1)
            entry = self._subfolder(parent, below, name, status)
        if entry.kind == "unkept":
            self.notes.append(Note(path, entry.reason, entry.size))
        return entry

    def _subfolder(self, parent: int, place: _Place, name: bytes, status: os.stat_result) -> Entry:
        if place.depth > MAX_DEPTH:
            return _unkept("too_deep", status)
        try:
            handle = os.open(name, _FOLDER_FLAGS, dir_fd=parent)
        except PermissionError:
            return _unkept("unreadable", status)
        except NotADirectoryError as error:  # replaced since it was listed
            raise FileNotFoundError from error
        try:
            found = self._folder(handle, place)
            mode = stat.S_IMODE(status.st_mode)
            return Entry("folder", mode, found, 0, _xattrs(handle), status.st_mtime_ns)
        finally:
            os.close(handle)

    def _keep_folder(
        self,
        path: bytes,
        known: FolderStats,
        files: dict[bytes, Known],
        entries: dict[bytes, Entry],
    ) -> bytes:
        found = known.id
        if not found or entries != known.entries:
            encoded = encode_folder(entries)
            found = digest(encoded)
            if not self._store.has(found):
                self._store.put(found, 0, encoded)
                self._store.put_times(found, encode_times(entries))
                self._store.breathe()
        if files != known.files:
            self.changed.append(path)
        self.stats[path] = FolderStats(files, entries, found)
        return found

    def _read(
        self, parent: int, path: bytes, name: bytes, status: os.stat_result, last: Known | None
    ) -> Entry:
        """The entry of something that is no folder; `FileNotFoundError` if it went."""
        mode = stat.S_IMODE(status.st_mode)
        if stat.S_ISLNK(status.st_mode):
            return Entry("link", 0o777, os.readlink(name, dir_fd=parent))
        if stat.S_ISFIFO(status.st_mode):
            return Entry("fifo", mode, b"")
        if not stat.S_ISREG(status.st_mode):
            return _unkept("socket" if stat.S_ISSOCK(status.st_mode) else "device", status)
        if status.st_size > self._limits.max_file_bytes:
            return _unkept("too_large", status)
        try:
            return self._file(parent, path, name)
        except OSError as error:
            if error.errno in _NOT_THE_FILE:
                raise
            if last is not None and _same_content(last[0], status):
                return last[1]._replace(mode=mode)
            return _unkept("unreadable", status)

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
            if status.st_size > self._limits.max_file_bytes:
                return _unkept("too_large", status)
            if status.st_size > self._room:
                return _unkept("store_full", status)
            found, size = self._content(handle)
            steady = size == status.st_size and stamp_of(os.fstat(handle)) == stamp_of(status)
            if steady or tries == _TRIES:
                break
        if not steady:
            self.notes.append(Note(path, "changed_while_read", size))
        mode = stat.S_IMODE(status.st_mode)
        return Entry("file", mode, found, size, _xattrs(handle), status.st_mtime_ns)

    def _content(self, handle: int) -> tuple[bytes, int]:
        """Store what is read now; returns its hash and size in bytes."""
        first = os.pread(handle, PART, 0)
        if len(first) < PART:
            found, size = digest(first), len(first)
            if not self._store.has(found):
                self._put(found, 0, first)
        else:
            found, size = self._large(handle)
        self._store.breathe()
        return found, size

    def _large(self, handle: int) -> tuple[bytes, int]:
        """Read once for the hash and, if that is new, once more to store, part by part."""
        self._store.begin()
        key, size = _hash(_parts(handle))
        if self._store.has(key):
            return key, size
        actual, size = _hash(self._stored(_parts(handle), key))
        if actual != key:
            self._store.rename(key, actual)
        return actual, size

    def _stored(self, parts: Iterator[bytes], key: bytes) -> Iterator[bytes]:
        for part, data in enumerate(parts):
            self._put(key, part, data)
            yield data

    def _put(self, key: bytes, part: int, data: bytes) -> None:
        self._room -= self._store.put(key, part, data)


def _unkept(reason: Reason, status: os.stat_result) -> Entry:
    """Sizes and times are part of a large file's identity, so that a change shows."""
    regular = stat.S_ISREG(status.st_mode)
    stamp = b" %d" % status.st_mtime_ns if regular else b""
    size = status.st_size if regular else 0
    return Entry("unkept", stat.S_IMODE(status.st_mode), reason.encode() + stamp, size)


def _same_content(stamp: Stamp, status: os.stat_result) -> bool:
    """The owner took the right to read away, and nothing else changed."""
    return stamp[0] == status.st_mtime_ns and stamp[2:4] == (status.st_size, status.st_ino)


def _parts(handle: int) -> Iterator[bytes]:
    at = 0
    while data := os.pread(handle, PART, at):
        yield data
        at += len(data)


def _hash(parts: Iterator[bytes]) -> tuple[bytes, int]:
    hasher, size = blake2b(digest_size=20), 0
    for data in parts:
        hasher.update(data)
        size += len(data)
    return hasher.digest(), size


def _xattrs(handle: int) -> Xattrs:
    """The user's extended attributes; none where the file system has none."""
    try:
        names = [name for name in os.listxattr(handle) if name.startswith("user.")]
        return tuple((os.fsencode(n), os.getxattr(handle, n)) for n in sorted(names))
    except OSError:
        return ()
