"""Reading a folder into the store: by directory handles, never through a symbolic link.

One pass over the tree; only files whose stamp is new are read. What cannot be kept becomes an
entry of kind `unkept` and a note; excluded folders become a note only, so that a cache that
appears or goes does not make another snapshot.
"""

import os
import stat
import sys
import time
from typing import NamedTuple

from headway_tools.snapshots.entries import (
    Entry,
    Groups,
    Note,
    digest,
    encode_folder,
    encode_times,
    join,
)
from headway_tools.snapshots.reader import Limits, Reader, unkept, xattrs_of
from headway_tools.snapshots.rules import RESTORING, TEMPORARY, Exclusions
from headway_tools.snapshots.stats import (
    RACY_NS,
    FolderStats,
    Known,
    Stats,
    lasting,
    stamp_of,
)
from headway_tools.snapshots.store import Store

MAX_DEPTH = 200  # open handles and stack frames of one scan
_ENCODING, _ERRORS = sys.getfilesystemencoding(), sys.getfilesystemencodeerrors()
_NOTHING = FolderStats()
_FOLDER_FLAGS = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


class _Place(NamedTuple):
    """Where the scan is: the path below the root, and how deep."""

    path: bytes
    depth: int


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
        self._reader = Reader(store, limits)
        self._racy_ns = time.time_ns() - RACY_NS
        self._inodes: dict[tuple[int, int], list[bytes]] = {}
        self.stats: Stats = {}
        self.changed: list[bytes] = []
        self.notes: list[Note] = []
        self.leftovers: list[bytes] = []

    def run(self, root: int) -> Entry:
        """Scan the folder behind the handle `root`; returns its entry."""
        status = os.fstat(root)
        found = self._folder(root, _Place(b"", 0))
        self.notes.extend(self._reader.notes)
        return Entry("folder", stat.S_IMODE(status.st_mode), found, 0, xattrs_of(root))

    @property
    def groups(self) -> Groups:
        return tuple(sorted(tuple(sorted(p)) for p in self._inodes.values() if len(p) > 1))

    def _folder(self, handle: int, place: _Place) -> bytes:
        """Scan one folder and store its entries; returns its id."""
        known = self._known.get(place.path, _NOTHING)
        files: dict[bytes, Known] = {}
        folders: dict[bytes, Known] = {}
        entries: dict[bytes, Entry] = {}
        with os.scandir(handle) as listing:
            items = list(listing)  # no handle of the listing stays open further down
        if known.id and _as_known(items, known):
            self.stats[place.path] = known
            return known.id
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
                    entry = self._look(handle, place, name, status, known)
            except FileNotFoundError:
                continue
            if entry is None:
                continue
            entries[name] = entry
            if entry.kind == "folder":
                folders[name] = lasting(stamp, self._racy_ns), entry
                continue
            if entry.kind == "unkept":
                continue
            if name not in files:
                files[name] = lasting(stamp, self._racy_ns), entry
            if status.st_nlink > 1 and entry.kind == "file":
                inode = status.st_dev, status.st_ino
                self._inodes.setdefault(inode, []).append(join(place.path, name))
        return self._keep_folder(place.path, known, FolderStats(files, entries, folders=folders))

    def _look(
        self, parent: int, place: _Place, name: bytes, status: os.stat_result, known: FolderStats
    ) -> Entry | None:
        """The entry of something new, changed or a folder; None if it is left out."""
        path = join(place.path, name)
        if name.startswith(TEMPORARY):
            if name.startswith(RESTORING):
                self.leftovers.append(path)
            return None
        if self._exclude.withholds(path):
            return None
        if not stat.S_ISDIR(status.st_mode):
            entry = self._reader.read(parent, path, name, status, known.files.get(name))
        elif self._exclude.match(place.path, name):
            self.notes.append(Note(path, "excluded"))
            return None
        else:
            below = _Place(path, place.depth + 1)
            entry = self._subfolder(parent, below, name, status, known.folders.get(name))
        if entry.kind == "unkept":
            self.notes.append(Note(path, entry.reason, entry.size))
        return entry

    def _subfolder(
        self, parent: int, place: _Place, name: bytes, status: os.stat_result, last: Known | None
    ) -> Entry:
        if place.depth > MAX_DEPTH:
            return unkept("too_deep", status)
        try:
            handle = os.open(name, _FOLDER_FLAGS, dir_fd=parent)
        except PermissionError:
            return unkept("unreadable", status)
        except NotADirectoryError as error:  # replaced since it was listed
            raise FileNotFoundError from error
        try:
            found = self._folder(handle, place)
            mode = stat.S_IMODE(status.st_mode)
            same = last if last and last[0] == stamp_of(status) else None
            xattrs = same[1].xattrs if same else xattrs_of(handle)
            return Entry("folder", mode, found, 0, xattrs, status.st_mtime_ns)
        finally:
            os.close(handle)

    def _keep_folder(self, path: bytes, known: FolderStats, now: FolderStats) -> bytes:
        now.id = known.id
        if not now.id or now.entries != known.entries:
            encoded = encode_folder(now.entries)
            now.id = digest(encoded)
            if not self._store.has(now.id):
                self._store.put(now.id, 0, encoded)
                self._store.put_times(now.id, encode_times(now.entries))
                self._store.breathe()
        if now.files != known.files:
            self.changed.append(path)
        self.stats[path] = now
        return now.id


def _as_known(items: list["os.DirEntry[str]"], known: FolderStats) -> bool:
    """Whether a folder holds what it held: the same files, with the stamps that they had, and
    each under one name only. The usual case, and nothing is built for it."""
    if len(items) != len(known.files) or len(items) != len(known.entries):
        return False
    try:
        for item in items:
            last = known.files.get(item.name.encode(_ENCODING, _ERRORS))
            if last is None:
                return False
            status = item.stat(follow_symlinks=False)
            if last[0] != stamp_of(status) or status.st_nlink > 1:
                return False
    except FileNotFoundError:
        return False
    return True
