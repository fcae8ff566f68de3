"""Another store takes the folder's place; workers that open the same one share their threads."""

import os
import signal
import stat
import subprocess
import sys
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.memory import InMemorySaver

from headway import build_agent, run_agent
from headway.notes import meta
from headway_tools import leases
from headway_tools.errors import HeadwayError
from headway_tools.home import Home
from headway_tools.journal import MemoryJournal
from headway_tools.leases import Attempt, Lease, Sign, Signer
from headway_tools.locks import BranchLock
from headway_tools.snapshots import Snapshots
from policies import bash, replies

CONFIG: RunnableConfig = {"configurable": {"thread_id": "t"}}
GO: Any = {"messages": [("user", "go")]}
TESTS = Path(__file__).resolve().parents[1]


@dataclass
class MemoryRecord:
    """A lease's record in this process."""

    key: str
    sign: Sign | None = None
    lock: threading.Lock = field(default_factory=threading.Lock)

    @contextmanager
    def locked(self) -> Iterator[tuple[Sign | None, Callable[[Sign], None]]]:
        with self.lock:
            yield self.sign, lambda sign: setattr(self, "sign", sign)


class KeptJournal(MemoryJournal):
    """It outlives the agent that closes it."""

    def close(self) -> None: ...


class MemoryStorage:
    """Journals and leases in this process, snapshots and locks in a folder of another layout."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.journals: defaultdict[str, KeptJournal] = defaultdict(KeptJournal)
        self.records: dict[str, MemoryRecord] = {}

    def journal(self, thread_id: str) -> KeptJournal:
        return self.journals[thread_id]

    def snapshots(self, thread_id: str, workspace: Path) -> Snapshots:
        return Snapshots(self.folder / f"states-of-{thread_id}")

    def lease(self, thread_id: str, branch: str) -> MemoryRecord:
        key = f"{thread_id}/{branch}"
        return self.records.setdefault(key, MemoryRecord(key))

    def lock(self, thread_id: str, name: str) -> BranchLock:
        return BranchLock(Home(self.folder).thread(f"lock-of-{thread_id}"), name)


@pytest.fixture
def storage(tmp_path: Path) -> MemoryStorage:
    return MemoryStorage(tmp_path / "store")


def test_an_agent_keeps_what_workers_share_in_the_store_that_it_is_given(
    storage: MemoryStorage, workspace: Path, own_home: Path
) -> None:
    model = replies(bash("echo 1 >> log"), "done")
    agent = build_agent(model, workspace=workspace, checkpointer=InMemorySaver(), storage=storage)
    values = agent.invoke(GO, CONFIG)
    assert [change["path"] for change in values["outcome"]["files"]] == ["log"]
    kept = meta(values["messages"][2])
    assert "exit_code" in str(storage.journals["t"].read(kept["output"]))
    assert storage.snapshots("t", workspace).holds(kept["after"])
    assert storage.records["t/"].sign is not None
    assert {path.name for path in (own_home / "threads" / "t").iterdir()} == {"private"}


def test_a_data_folder_that_it_makes_is_private(workspace: Path, tmp_path: Path) -> None:
    home = tmp_path / "above" / "home"
    agent = build_agent(replies("x"), workspace=workspace, checkpointer=InMemorySaver(), home=home)
    agent.invoke(GO, CONFIG)
    private = [home, home / "threads" / "t"]
    assert [stat.S_IMODE(path.stat().st_mode) for path in private] == [0o700, 0o700]


def test_the_lease_of_another_store_keeps_a_second_run_out(
    storage: MemoryStorage, workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(leases, "SIGN_SECONDS", 0.1)
    other = Lease(storage.lease("t", ""), Attempt())
    other.take()
    agent = build_agent(
        replies("x"), workspace=workspace, checkpointer=InMemorySaver(), storage=storage
    )
    with Signer().signing(other), pytest.raises(HeadwayError, match="this thread is busy"):
        agent.invoke(GO, CONFIG)


def test_run_agent_takes_the_lock_of_the_store(storage: MemoryStorage, workspace: Path) -> None:
    with (
        storage.lock("t", "main").acquire(1),
        pytest.raises(HeadwayError, match="is busy"),
    ):
        run_agent("x", model=replies("x"), workspace=workspace, thread_id="t", storage=storage)
    done = run_agent("x", model=replies("x"), workspace=workspace, thread_id="t", storage=storage)
    assert done.status == "completed"


def worker(folder: Path, name: str, verb: str) -> "subprocess.Popen[str]":
    """A process with a data folder of its own, and a store that all share."""
    program = Path(__file__).with_name("storage_worker.py")
    path = os.pathsep.join([str(TESTS), os.environ.get("PYTHONPATH", "")])
    own = {"HEADWAY_HOME": str(folder / name), "PYTHONPATH": path}
    return subprocess.Popen(
        [sys.executable, str(program), str(folder), verb],
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, **own},
    )


def test_processes_with_data_folders_of_their_own_share_journal_and_locks(tmp_path: Path) -> None:
    (tmp_path / "workspace").mkdir()
    log = tmp_path / "workspace" / "log"
    first = worker(tmp_path, "one", "start")
    while not log.exists():
        assert first.poll() is None
        time.sleep(0.05)
    busy = worker(tmp_path, "two", "resume").communicate(timeout=120)[0]
    assert "is busy" in busy
    first.send_signal(signal.SIGKILL)
    first.communicate()
    ended = worker(tmp_path, "two", "resume").communicate(timeout=120)[0]
    assert ended == "completed: it may have run"
    assert log.read_text() == "1\n"
