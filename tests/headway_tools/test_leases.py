"""One worker on a branch: who is alive keeps it, who is silent loses it, who wakes notices."""

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from headway_tools import leases
from headway_tools.errors import HeadwayError
from headway_tools.lease_file import LeaseFile
from headway_tools.leases import Attempt, Lease, Overtaken

HOLDER = """
import sys, time
from pathlib import Path
from headway_tools import leases
from headway_tools.lease_file import LeaseFile
leases.WORKING, leases.SIGN_SECONDS = 0.6, 0.1
lease = leases.Lease(LeaseFile(Path(sys.argv[1])), leases.Attempt())
lease.take()
with leases.Signer().signing(lease):
    print("held", flush=True)
    sys.stdin.readline()
try:
    lease.check()
    lease.leave()
    print("kept")
except leases.Overtaken:
    print("overtaken")
"""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "locks" / "main.lease"


def lease(path: Path) -> Lease:
    return Lease(LeaseFile(path), Attempt())


@contextmanager
def holder(path: Path) -> Iterator["subprocess.Popen[str]"]:
    """Another process that holds the lease and signs it ten times a second."""
    process = subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    with process:
        assert process.stdout is not None
        assert process.stdout.readline() == "held\n"
        try:
            yield process
        finally:
            process.kill()


def end_of(process: "subprocess.Popen[str]") -> str:
    return process.communicate("\n", timeout=60)[0].strip()


def test_a_holder_that_signs_is_busy(path: Path) -> None:
    with holder(path) as process:
        with pytest.raises(HeadwayError, match=f"busy: process {process.pid}"):
            lease(path).take()
        assert end_of(process) == "kept"


def test_a_dead_holders_lease_is_free_at_once(path: Path) -> None:
    with holder(path) as process:
        process.kill()
        process.wait()
        assert lease(path).try_take()


def test_a_stopped_holder_loses_the_lease_and_notices_when_it_wakes(path: Path) -> None:
    with holder(path) as process:
        os.kill(process.pid, signal.SIGSTOP)
        mine = lease(path)
        assert not mine.try_take()
        mine.take()
        os.kill(process.pid, signal.SIGCONT)
        assert end_of(process) == "overtaken"
        mine.check()


def test_a_holder_that_wakes_in_time_keeps_the_lease(path: Path) -> None:
    with holder(path) as process:
        os.kill(process.pid, signal.SIGSTOP)
        assert not lease(path).try_take()
        os.kill(process.pid, signal.SIGCONT)
        assert end_of(process) == "kept"


def test_between_two_steps_a_holder_is_waited_for_then_taken_for_gone(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(leases, "BETWEEN", 0.3)
    first, second = lease(path), lease(path)
    first.take()
    first.leave()
    assert not second.try_take()
    assert first.try_take(), "the next step of the same run"
    first.leave()
    second.take()
    for step in (first.try_take, first.check, first.leave):
        with pytest.raises(Overtaken):
            step()
    second.check()


def test_a_lease_given_back_is_free_at_once_and_giving_back_twice_harms_nobody(path: Path) -> None:
    first, second = lease(path), lease(path)
    first.take()
    first.free()
    assert second.try_take()
    first.free()
    second.check()


@pytest.mark.parametrize("end", ["leave", "free"])
def test_a_late_sign_does_not_bring_a_step_back_that_has_ended(path: Path, end: str) -> None:
    first, second = lease(path), lease(path)
    first.take()
    first.renew()
    getattr(first, end)()
    before = path.read_bytes()
    first.renew()
    assert path.read_bytes() == before
    first.free()
    second.take()
    first.renew()
    second.check()


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b"{}", b"\0" * 600, b'{"holder": "x"}'])
def test_half_a_record_is_a_free_lease_that_its_holder_has_lost(path: Path, content: bytes) -> None:
    first, second = lease(path), lease(path)
    first.take()
    path.write_bytes(content)
    with pytest.raises(Overtaken):
        first.check()
    assert second.try_take()


def test_a_shorter_record_replaces_a_longer_one(path: Path) -> None:
    long = Lease(LeaseFile(path), Attempt(id="x" * 300))
    long.take()
    long.free()
    short = Lease(LeaseFile(path), Attempt(id="y"))
    short.take()
    short.check()


def test_of_many_threads_one_works_at_a_time(path: Path) -> None:
    working, most, done = [0], [0], [0]

    def work() -> None:
        mine = lease(path)
        while not mine.try_take():
            time.sleep(0.001)
        working[0] += 1
        most[0] = max(most[0], working[0])
        time.sleep(0.002)
        working[0] -= 1
        done[0] += 1
        mine.free()

    threads = [threading.Thread(target=work) for _ in range(12)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (most[0], done[0]) == (1, 12)


def test_a_folder_that_cannot_be_written_is_one_clear_error(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(HeadwayError, match="data folder"):
        lease(tmp_path / "file" / "main.lease").take()
