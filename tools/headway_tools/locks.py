"""One holder at a time: a file lock that the kernel releases when its holder dies.

The lock's file names the holder for the message.
"""

import asyncio
import contextlib
import fcntl
import json
import os
import socket
import time
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any, Self

from headway_tools.errors import HeadwayError
from headway_tools.home import ThreadFolder, folder_name, make_private

_PAUSE = 0.05  # seconds between two tries


class Busy(HeadwayError):
    """Somebody else held the lock all the time."""


class FileLock:
    """A lock by its file, not held yet.

    An object is held at most once at a time; a second one, in this process or another, waits.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._handle: int | None = None

    @contextmanager
    def acquire(self, timeout: float) -> Iterator[Self]:
        """Hold the lock within the block; waits up to `timeout` seconds, then `Busy`."""
        deadline = time.monotonic() + timeout
        while not self.try_acquire():
            self._refuse_after(deadline)
            time.sleep(_PAUSE)
        try:
            yield self
        finally:
            self.release()

    @asynccontextmanager
    async def acquire_async(self, seconds: float) -> AsyncIterator[Self]:
        """`acquire` for async code: the event loop goes on while it waits."""
        deadline = time.monotonic() + seconds
        while not await self._try_acquire_async():
            self._refuse_after(deadline)
            await asyncio.sleep(_PAUSE)
        try:
            yield self
        finally:
            self.release()

    async def _try_acquire_async(self) -> bool:
        """`try_acquire` in a thread, since servers allow no file access in theirs; a lock that
        it takes for a task that is cancelled meanwhile is given back."""
        trying = asyncio.get_running_loop().run_in_executor(None, self.try_acquire)
        try:
            return await asyncio.shield(trying)
        except asyncio.CancelledError:
            trying.add_done_callback(lambda _: self.release())
            raise

    def _refuse_after(self, deadline: float) -> None:
        if time.monotonic() < deadline:
            return
        owner = self.owner()
        who = "another run"
        if owner:
            who = f"process {owner.get('pid')} on {owner.get('host')} since {owner.get('since')}"
        raise Busy(self._busy(who))

    def _busy(self, who: str) -> str:
        return f"{who} holds {self._path}; wait for it, or stop it"

    def try_acquire(self) -> bool:
        """Take the lock if it is free now. Never waits."""
        if self._handle is not None:
            return False
        make_private(self._path.parent)
        try:
            handle = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        except OSError as error:
            raise HeadwayError(
                f"cannot lock {self._path}: {error.strerror}; check headway's data folder"
            ) from error
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if not self._is_current(handle):  # removed between open and lock
                raise BlockingIOError
            _write_owner(handle)
        except BaseException as error:
            os.close(handle)
            if isinstance(error, BlockingIOError):
                return False
            raise
        self._handle = handle
        return True

    def release(self) -> None:
        """Give the lock back; nothing if it is not held."""
        handle, self._handle = self._handle, None
        if handle is not None:
            os.close(handle)

    def note(self, **facts: str) -> None:
        """Write facts beside the owner while the lock is held; they stay until somebody notes
        others."""
        if self._handle is not None:
            _write(self._handle, {**_read(self._handle), **facts})

    def owner(self) -> dict[str, Any]:
        """Who acquired the lock last: `pid`, `host`, `since`, and the last `note`; empty if nobody
        ever did."""
        try:
            handle = os.open(self._path, os.O_RDONLY | os.O_CLOEXEC)
        except OSError:
            return {}
        try:
            return _read(handle)
        finally:
            os.close(handle)

    def _is_current(self, handle: int) -> bool:
        with contextlib.suppress(FileNotFoundError):
            return os.path.samestat(os.fstat(handle), self._path.stat())
        return False


class BranchLock(FileLock):
    """The lock of one branch of one thread."""

    def __init__(self, thread: ThreadFolder, branch: str) -> None:
        super().__init__(thread.locks / folder_name(branch))
        self._branch = branch
        self._thread = thread.path.name

    def _busy(self, who: str) -> str:
        return (
            f"thread {self._thread} is busy: {who} holds branch {self._branch}; "
            "wait for it, stop it, or fork"
        )


def is_held(thread: ThreadFolder) -> bool:
    """Whether a run is under way on any branch of the thread. Takes no lock."""
    return bool(held_in(thread.locks))


def held_in(folder: Path) -> list[Path]:
    """The files in `folder` whose locks are held. Takes no lock."""
    return [path for path in folder.iterdir() if _held(path)] if folder.is_dir() else []


def _held(path: Path) -> bool:
    """Asked by a shared lock for an instant, which a second asker may hold as well."""
    try:
        handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        fcntl.flock(handle, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(handle)
    return False


def _read(handle: int) -> dict[str, Any]:
    """The first line: behind it a killed writer may have left the rest of a longer one."""
    line = os.pread(handle, 4096, 0).partition(b"\n")[0]
    try:
        found = json.loads(line)
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


def _write_owner(handle: int) -> None:
    owner = {
        "pid": os.getpid(),
        "host": socket.gethostname(),
        "since": time.strftime("%Y-%m-%dT%H:%M:%S%z"),
    }
    _write(handle, {**_read(handle), **owner})


def _write(handle: int, owner: Mapping[str, object]) -> None:
    line = json.dumps(owner).encode() + b"\n"
    os.pwrite(handle, line, 0)
    os.ftruncate(handle, len(line))
