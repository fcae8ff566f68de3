"""What workers share of a thread besides its checkpoints: journal, snapshots, leases, locks.

All of it is opened through `Storage`. `FolderStorage` keeps it in headway's data folder; another
store takes its place by `build_agent(storage=…)`.
"""

import hashlib
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager, AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

from headway_tools.home import Home, ThreadFolder
from headway_tools.journal import Journal, SqliteJournal
from headway_tools.lease_file import LeaseFile
from headway_tools.leases import Record
from headway_tools.locks import BranchLock
from headway_tools.snapshots import Change, Note, Report, Snapshots
from headway_tools.withheld import place_in


class WorkspaceStates(Protocol):
    """States of a workspace by id, as a run uses them; `headway_tools.snapshots.Snapshots` says
    what each method does. May be called from any thread."""

    def take(self, root: Path) -> str: ...

    def holds(self, snapshot: str) -> bool: ...

    def notes(self, snapshot: str) -> list[Note]: ...

    def diff(self, a: str, b: str) -> list[Change]: ...

    def restore(
        self, snapshot: str, root: Path, *, only: Callable[[str], bool] | None = None
    ) -> Report: ...

    def extract(self, snapshot: str, folder: Path, *, original: Path | None = None) -> Report: ...

    def close(self) -> None: ...


class Lock(Protocol):
    """One holder at a time; both wait some seconds, then raise `HeadwayError`."""

    def acquire(self, timeout: float) -> AbstractContextManager[Any]: ...

    def acquire_async(self, seconds: float) -> AbstractAsyncContextManager[Any]: ...


@runtime_checkable
class Storage(Protocol):
    """Opens what workers share. Whoever opens the same thread gets the same content."""

    def journal(self, thread_id: str) -> Journal:
        """The results of the thread's calls."""
        ...

    def snapshots(self, thread_id: str, workspace: Path) -> WorkspaceStates:
        """The thread's states of `workspace`, by the path where it stands for the model."""
        ...

    def lease(self, thread_id: str, branch: str) -> Record:
        """Who works on a branch, step by step; "": the original line."""
        ...

    def lock(self, thread_id: str, name: str) -> Lock:
        """Held by `run_agent` for a whole run, around its leases."""
        ...


@dataclass(frozen=True)
class FolderStorage:
    """`Storage` in a data folder; workers share it by sharing the folder."""

    home: Home

    def journal(self, thread_id: str) -> SqliteJournal:
        return SqliteJournal(self._folder(thread_id).journal)

    def snapshots(self, thread_id: str, workspace: Path) -> Snapshots:
        path = str(workspace).encode("utf-8", "surrogateescape")
        name = hashlib.sha256(path).hexdigest()[:12]
        data = place_in(workspace, self.home.path)
        folder = self._folder(thread_id).snapshots / name
        return Snapshots(folder, withheld=(data,) if data else ())

    def lease(self, thread_id: str, branch: str) -> LeaseFile:
        return LeaseFile(self.home.thread(thread_id).lease(branch))

    def lock(self, thread_id: str, name: str) -> BranchLock:
        return BranchLock(self._folder(thread_id), name)

    def _folder(self, thread_id: str) -> ThreadFolder:
        return self.home.make().thread(thread_id).make()
