import asyncio
import json
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from headway_tools.errors import HeadwayError
from headway_tools.home import ThreadFolder
from headway_tools.locks import BranchLock

HOLDER = """
import sys, time
from pathlib import Path
from headway_tools.home import ThreadFolder
from headway_tools.locks import BranchLock
with BranchLock(ThreadFolder(Path(sys.argv[1])), "main").acquire(10):
    print("held", flush=True)
    time.sleep(60)
"""


@pytest.fixture
def thread(tmp_path: Path) -> ThreadFolder:
    return ThreadFolder(tmp_path / "t1")


def test_the_second_run_on_a_branch_is_refused_and_told_by_whom(thread: ThreadFolder) -> None:
    with BranchLock(thread, "main").acquire(0):
        with (
            pytest.raises(HeadwayError, match="thread t1 is busy") as caught,
            BranchLock(thread, "main").acquire(0.1),
        ):
            pass
        assert f"process {os.getpid()} on " in str(caught.value)
        assert "\n" not in str(caught.value)
    with BranchLock(thread, "main").acquire(0):
        pass


def test_two_branches_run_side_by_side(thread: ThreadFolder) -> None:
    with BranchLock(thread, "main").acquire(0), BranchLock(thread, "fork-1").acquire(0):
        assert not BranchLock(thread, "main").try_acquire()
        assert not BranchLock(thread, "fork-1").try_acquire()


def test_one_object_is_held_once(thread: ThreadFolder) -> None:
    lock = BranchLock(thread, "main")
    with lock.acquire(0):
        assert not lock.try_acquire()


def test_any_name_of_a_branch_is_a_file_in_the_folder(thread: ThreadFolder) -> None:
    with BranchLock(thread, "../ü/\udcff").acquire(0):
        assert len(list(thread.locks.iterdir())) == 1


def test_the_second_run_waits_for_the_first(thread: ThreadFolder) -> None:
    order: list[str] = []
    holding = threading.Event()

    def first() -> None:
        with BranchLock(thread, "main").acquire(0):
            holding.set()
            order.append("first")

    worker = threading.Thread(target=first)
    worker.start()
    holding.wait()
    with BranchLock(thread, "main").acquire(30):
        order.append("second")
    worker.join()
    assert order == ["first", "second"]


async def test_waiting_leaves_the_event_loop_free(thread: ThreadFolder) -> None:
    held = BranchLock(thread, "main")
    assert held.try_acquire()
    asyncio.get_running_loop().call_later(0.1, held.release)
    async with BranchLock(thread, "main").acquire_async(30):
        assert not held.try_acquire()
    with pytest.raises(HeadwayError, match="busy"):
        async with (
            BranchLock(thread, "main").acquire_async(0),
            BranchLock(thread, "main").acquire_async(0),
        ):
            pass


def test_a_killed_holder_leaves_the_lock_free(thread: ThreadFolder) -> None:
    command = [sys.executable, "-c", HOLDER, str(thread.path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == b"held\n"
        assert not BranchLock(thread, "main").try_acquire()
        holder.send_signal(signal.SIGKILL)
    with BranchLock(thread, "main").acquire(0) as lock:
        assert lock.owner()["pid"] == os.getpid()


def test_a_lock_whose_file_was_removed_holds_nobody_up(thread: ThreadFolder) -> None:
    with BranchLock(thread, "main").acquire(0):
        (thread.locks / "main").unlink()
        with BranchLock(thread, "main").acquire(0):
            assert not BranchLock(thread, "main").try_acquire()


def test_a_writer_killed_between_two_calls_spoils_nothing(thread: ThreadFolder) -> None:
    thread.locks.mkdir(parents=True)
    line = json.dumps({"pid": 1, "host": "h", "since": "then"})
    (thread.locks / "main").write_text(f'{line}\n"rest of a longer line"}}\n')
    lock = BranchLock(thread, "main")
    assert lock.owner()["pid"] == 1
    (thread.locks / "main").write_text("{")
    with lock.acquire(0):
        assert lock.owner()["pid"] == os.getpid()


def test_a_folder_that_cannot_be_written_is_one_error(tmp_path: Path) -> None:
    (tmp_path / "t1").write_text("a file where the folder should be")
    with (
        pytest.raises(HeadwayError, match="HEADWAY_HOME"),
        BranchLock(ThreadFolder(tmp_path / "t1"), "main").acquire(0),
    ):
        pass


async def test_a_task_that_is_cancelled_while_it_takes_the_lock_leaves_it_free(
    thread: ThreadFolder,
) -> None:
    async def hold() -> None:
        async with BranchLock(thread, "main").acquire_async(0):
            await asyncio.sleep(60)

    for pauses in range(6):
        task = asyncio.create_task(hold())
        for _ in range(pauses):
            await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        async with BranchLock(thread, "main").acquire_async(10):
            pass
