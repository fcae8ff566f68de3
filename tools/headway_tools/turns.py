"""Turns in a folder: while one run changes files there, no other one does, so that the snapshots
around a call hold that call's changes alone.

A turn is a lock in the data folder; its file tells who changed files last. Runs at work in the
folder hold a lock of their own beside it.
"""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from headway_tools.home import folder_name
from headway_tools.locks import Busy, FileLock, held_in

TURN_SECONDS: Final = 600.0
"""Most seconds that a call waits for its turn."""

_held: ContextVar[frozenset[Path]] = ContextVar("headway_turns", default=frozenset())
"""Turns that a call around this one has: an agent that is another one's tool needs no second."""

_KNOWN_SECONDS: Final = 1.0
"""After this time whoever has a lock has also noted who it is."""


@dataclass(frozen=True)
class Turn:
    """A turn that one has."""

    undisturbed: bool = True
    """No other thread has signed one since this thread's last."""
    sign: Callable[[], None] = lambda: None
    """To be called before files are changed."""


@dataclass(frozen=True)
class Turns:
    """The turns in one folder, as `thread` takes them."""

    place: Path
    """The folder of their files (`Home.turns`)."""
    thread: str

    @contextmanager
    def take(self, seconds: float) -> Iterator[Turn | None]:
        """Have the turn within the block; None: somebody else had it for all of `seconds`."""
        if self.place in _held.get():
            yield Turn()
            return
        lock = self._lock()
        with contextlib.ExitStack() as stack:
            try:
                stack.enter_context(lock.acquire(min(seconds, _KNOWN_SECONDS)))
            except Busy:
                if self._overtaken(lock):
                    yield self.look()
                    return
                try:
                    stack.enter_context(lock.acquire(seconds))
                except Busy:
                    yield None
                    return
            with self._noted():
                yield self._turn(lock)

    @asynccontextmanager
    async def atake(self, seconds: float) -> AsyncIterator[Turn | None]:
        """`take`, asynchronously: a cancelled run stops waiting."""
        if self.place in _held.get():
            yield Turn()
            return
        lock = self._lock()
        async with contextlib.AsyncExitStack() as stack:
            try:
                known = lock.acquire_async(min(seconds, _KNOWN_SECONDS))
                await stack.enter_async_context(known)
            except Busy:
                if await asyncio.to_thread(self._overtaken, lock):
                    yield await asyncio.to_thread(self.look)
                    return
                try:
                    await stack.enter_async_context(lock.acquire_async(seconds))
                except Busy:
                    yield None
                    return
            turn = await asyncio.to_thread(self._turn, lock)
            with self._noted():
                yield turn

    def look(self) -> Turn:
        """What one would have now."""
        return self._turn(self._lock())

    def _overtaken(self, lock: FileLock) -> bool:
        """Whether a run of this same thread has the turn: one that stands still and has lost its
        lease, or this one would not be here. It is not waited for."""
        return lock.owner().get("holder") == self.thread

    def _turn(self, lock: FileLock) -> Turn:
        last = lock.owner().get("thread", self.thread)
        lock.note(holder=self.thread)
        return Turn(last == self.thread, lambda: lock.note(thread=self.thread))

    @contextmanager
    def at_work(self) -> Iterator[list[str]]:
        """Be known as at work in the folder within the block; the other threads that are."""
        runs = self.place / "runs"
        own = runs / folder_name(self.thread)
        with contextlib.ExitStack() as stack:
            with contextlib.suppress(Busy):
                stack.enter_context(FileLock(own).acquire(_KNOWN_SECONDS)).note(thread=self.thread)
                stack.callback(own.unlink, missing_ok=True)
            others = (path for path in held_in(runs) if path != own)
            yield sorted(FileLock(path).owner().get("thread", path.name) for path in others)

    def _lock(self) -> FileLock:
        return FileLock(self.place / "turn")

    @contextmanager
    def _noted(self) -> Iterator[None]:
        token = _held.set(_held.get() | {self.place})
        try:
            yield
        finally:
            _held.reset(token)
