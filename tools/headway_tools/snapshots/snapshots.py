"""`Snapshots`: one thread's workspace states, the only door to this package.

A snapshot's id is the hash of what it holds: equal states have equal ids, times of change aside.
All methods may be called from any thread; one runs at a time.
"""

import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from headway_tools.errors import HeadwayError
from headway_tools.snapshots import restoring
from headway_tools.snapshots.compare import lookup, without_object_stores
from headway_tools.snapshots.entries import Change, Note, Report, display, raw_path
from headway_tools.snapshots.patches import render
from headway_tools.snapshots.reader import Limits
from headway_tools.snapshots.rules import DEFAULT_EXCLUDED, Exclusions
from headway_tools.snapshots.states import States
from headway_tools.snapshots.store import Store


class Snapshots:
    """One thread's content-addressed store of workspace states.

    Kept: every file, ignored and untracked ones and nested repositories included, with names as
    bytes, modes, `user.` attributes, symbolic links, hard-link groups, empty folders, FIFOs.
    Not kept, and named by `notes`: folders in `exclude` (names, or ends of paths like `a/b`),
    files larger than `max_file_bytes` or for which the store has no room below `max_bytes`,
    sockets, devices, and what cannot be read. Owners and access control lists are not kept.
    `withheld`, paths from the top, are no part of the workspace: not kept, named, or touched.

    Nothing is opened before the first use. Every method raises `HeadwayError` where the store is
    damaged, full, not writable or of a newer schema, or where a snapshot is unknown.
    """

    def __init__(
        self,
        folder: Path,
        *,
        exclude: tuple[str, ...] = DEFAULT_EXCLUDED,
        withheld: tuple[str, ...] = (),
        max_file_bytes: int = 64 << 20,
        max_bytes: int | None = 4 << 30,
    ) -> None:
        self._folder = folder
        self._exclude = Exclusions(exclude, withheld)
        self._limits = Limits(max_file_bytes, max_bytes)
        self._lock = threading.RLock()
        self._states: States | None = None

    @contextmanager
    def _use(self) -> Iterator[States]:
        with self._lock:
            states = self._open()
            with states.store.shared():
                yield states

    def _open(self) -> States:
        if self._states is None:
            self._states = States(Store(self._folder), self._exclude, self._limits)
        return self._states

    def take(self, root: Path) -> str:
        """Record the state of the folder `root`; returns the snapshot's id (20 hex digits)."""
        with self._use() as states:
            return states.record(root).id

    def holds(self, snapshot: str) -> bool:
        """Whether the snapshot is in this store."""
        with self._use() as states:
            return states.store.holds(snapshot)

    def notes(self, snapshot: str) -> list[Note]:
        """What the snapshot does not hold, and why, sorted by path."""
        with self._use() as states:
            return states.state(snapshot).notes

    def diff(self, a: str, b: str) -> list[Change]:
        """The changes from `a` to `b`, sorted by path; git's object stores left out."""
        with self._use() as states:
            return _diff(states, a, b)

    def patch(
        self, a: str, b: str, *, only: Callable[[str], bool] | None = None, limit: int = 20_000
    ) -> str:
        """The difference as a unified diff for people, at most about `limit` characters; with
        `only` of the paths that it takes."""
        with self._use() as states:
            changes = _diff(states, a, b)
            taken = [change for change in changes if only is None or only(change.path)]
            return render(taken, states.store.get, limit)

    def read(self, snapshot: str, path: str | bytes) -> bytes:
        """The content of one file."""
        with self._use() as states:
            raw = raw_path(path)
            entry = lookup(states.folder, states.state(snapshot).root, raw)
            if entry is None or entry.kind != "file":
                what = f"is no file but: {entry.kind}" if entry else "is not there"
                raise HeadwayError(f"{display(raw)} {what} in snapshot {snapshot}")
            return states.store.get(entry.id)

    def plan(
        self,
        snapshot: str,
        root: Path,
        *,
        only: Callable[[str], bool] | None = None,
        made: str = "",
    ) -> list[Change]:
        """What `restore` would change, without doing it."""
        with self._use() as states:
            target, own = states.state(snapshot), states.state(made) if made else None
            plan = restoring.plan_restore(states, states.record(root), target, own)
            return without_object_stores(restoring.chosen(plan.changes, only))

    def restore(
        self,
        snapshot: str,
        root: Path,
        *,
        only: Callable[[str], bool] | None = None,
        made: str = "",
    ) -> Report:
        """Bring the folder `root` back to the snapshot; only what differs is touched, and of that
        with `only` just the paths for which it is true.

        The present state is recorded first and named in the report, so that this can be undone.
        Paths that are neither in the snapshot nor kept (see `notes`) stay, but for large files
        with the size and time of change that they have in the snapshot `made`. All content is
        checked before the first change. After being killed, restore again. Restored files get
        the present time: build tools compare it with outputs that snapshots may not hold.
        """
        with self._use() as states:
            own = states.state(made) if made else None
            return restoring.restore(states, states.state(snapshot), root, only, own)

    def extract(self, snapshot: str, folder: Path, *, original: Path | None = None) -> Report:
        """Put the snapshot into `folder`, which must not exist or be empty; all or nothing.

        Dependency folders and large files, which the snapshot names but does not hold, are
        copied from `original` as they are there now; the report's notes still name them.
        """
        with self._use() as states:
            return restoring.extract(states, states.state(snapshot), folder, original)

    def collect(self, keep: Iterable[str]) -> int:
        """Forget all snapshots but `keep` and the content that only they held.

        Returns the number of objects dropped. Ids in `keep` that are unknown are ignored.
        """
        with self._lock:
            states = self._open()
            with states.store.alone():
                live: set[bytes] = set()
                folders: set[bytes] = set()
                kept = [snapshot for snapshot in keep if states.store.knows(snapshot)]
                for snapshot in kept:
                    live.update(states.objects(snapshot, folders))
                return states.store.collect(kept, live)

    def close(self) -> None:
        """Save the stat cache and close the file; the next use opens it again."""
        with self._lock:
            states, self._states = self._states, None
            if states is not None:
                try:
                    with states.store.shared():
                        states.save()
                finally:
                    states.store.close()


def _diff(states: States, a: str, b: str) -> list[Change]:
    return without_object_stores(states.compare(states.state(a), states.state(b)))
