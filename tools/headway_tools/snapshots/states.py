"""States of folders over a store: recording one, reading one back, comparing two."""

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from headway_tools.errors import HeadwayError
from headway_tools.snapshots.compare import compare
from headway_tools.snapshots.entries import (
    Change,
    Entry,
    Groups,
    Note,
    decode_folder,
    decode_notes,
    decode_snapshot,
    decode_times,
    digest,
    encode_notes,
    encode_snapshot,
)
from headway_tools.snapshots.reader import Limits
from headway_tools.snapshots.rules import Exclusions
from headway_tools.snapshots.scan import Scan
from headway_tools.snapshots.stats import Stats, decode_stats, encode_stats
from headway_tools.snapshots.store import Store
from headway_tools.withheld import place_in

ROOT_FLAGS = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC


@dataclass(frozen=True)
class State:
    """What one snapshot holds; `leftovers` are files of a killed restore, seen while scanning."""

    id: str
    root: Entry
    groups: Groups
    notes: list[Note]
    leftovers: list[bytes]


@dataclass
class _Root:
    """What is remembered of one folder between two snapshots of it."""

    stats: Stats
    unsaved: set[bytes]


class States:
    """The states in one open store. Not thread-safe."""

    def __init__(self, store: Store, exclude: Exclusions, limits: Limits) -> None:
        self.store = store
        self._exclude = exclude
        self._limits = limits
        self._roots: dict[bytes, _Root] = {}
        self._collections = store.collections()

    def record(self, root: Path) -> State:
        """Scan the folder `root` and store what is new in it."""
        place = place_in(root, self.store.path.parent)
        if place is not None and not self._exclude.withholds(os.fsencode(place)):
            raise HeadwayError(
                f"headway's data folder lies inside the workspace {root}: set HEADWAY_HOME"
            )
        try:
            handle = os.open(root, ROOT_FLAGS)
            try:
                return self._record(os.fsencode(root), handle)
            finally:
                os.close(handle)
        except OSError as error:
            raise HeadwayError(f"cannot read the workspace {root}: {error.strerror}") from error

    def _record(self, name: bytes, handle: int) -> State:
        with self.store.transaction():
            known = self._known(name)
            scan = Scan(self.store, known.stats, self._exclude, self._limits)
            entry = scan.run(handle)
            body = encode_snapshot(entry, scan.groups)
            key = digest(body)
            if not self.store.has(key):
                self.store.put(key, 0, body)
            snapshot = key.hex()[:20]
            notes = sorted(scan.notes, key=lambda note: note.raw)
            self.store.put_snapshot(snapshot, key, encode_notes(notes))
            gone = known.stats.keys() - scan.stats.keys()
            fresh = _Root(scan.stats, known.unsaved.union(scan.changed, gone))
            if self.store.writing:
                self._save(name, fresh)
        self._roots[name] = fresh
        return State(snapshot, entry, scan.groups, notes, scan.leftovers)

    def _known(self, name: bytes) -> _Root:
        collections = self.store.collections()
        if collections != self._collections:
            self._roots.clear()
            self._collections = collections
        if name not in self._roots:
            rows = self.store.stats(name)
            stats = {folder: decode_stats(data) for folder, data in rows}
            self._roots[name] = _Root(stats, set())
        return self._roots[name]

    def _save(self, name: bytes, root: _Root) -> None:
        for folder in root.unsaved:
            stats = root.stats.get(folder)
            self.store.put_stats(name, folder, encode_stats(stats.files) if stats else None)
        root.unsaved = set()

    def save(self) -> None:
        """Write what is remembered of the scanned folders, for the next process."""
        with self.store.transaction():
            if self.store.collections() == self._collections:
                for name, root in self._roots.items():
                    self._save(name, root)

    def state(self, snapshot: str) -> State:
        """The snapshot as it was recorded."""
        key, notes = self.store.snapshot(snapshot)
        root, groups = decode_snapshot(self.store.get(key))
        return State(snapshot, root, groups, decode_notes(notes), [])

    def folder(self, key: bytes) -> Mapping[bytes, Entry]:
        """The entries of a folder's id, without times of change."""
        return decode_folder(self.store.get(key))

    def folder_with_times(self, key: bytes) -> Mapping[bytes, Entry]:
        entries = self.folder(key)
        times = decode_times(self.store.times(key))
        if len(times) != len(entries):
            return entries
        pairs = zip(entries.items(), times, strict=True)
        return {name: entry._replace(mtime_ns=mtime_ns) for (name, entry), mtime_ns in pairs}

    def compare(self, before: State, after: State) -> list[Change]:
        return compare(self.folder, before.root, after.root, (before.groups, after.groups))

    def objects(self, snapshot: str, seen: set[bytes]) -> Iterator[bytes]:
        """The ids of all objects of a snapshot that are not in `seen`, which it adds them to."""
        key, _ = self.store.snapshot(snapshot)
        root, _ = decode_snapshot(self.store.get(key))
        yield key
        open_folders = [root.id]
        while open_folders:
            folder = open_folders.pop()
            if folder in seen:
                continue
            seen.add(folder)
            yield folder
            for entry in self.folder(folder).values():
                if entry.kind == "folder":
                    open_folders.append(entry.id)
                elif entry.kind == "file":
                    yield entry.id
