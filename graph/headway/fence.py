"""Each step holds the lease of its branch, so two runs never work on one, and a worker that was
thought dead and wakes writes nothing (`headway_tools.leases`).

A run is known by its `runtime.control`, the one object that LangGraph makes for each invocation
and hands on to embedded graphs.
"""

import asyncio
from collections import OrderedDict
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from threading import Lock
from typing import Any, Concatenate, Final, Protocol

from langgraph.runtime import Runtime

from headway.context import Context
from headway.parts import Parts, Update
from headway.state import State
from headway_tools.leases import PAUSE, Attempt, Lease, Signer

MOST_RUNS: Final = 10_000
"""Runs of this process that are remembered."""

Check = Callable[[], None]
"""Raises `Overtaken` where the branch is no longer this run's."""


class Attempts:
    """The attempts of this process, by the run's control object, which is kept alive with it."""

    def __init__(self) -> None:
        self._known: OrderedDict[int, tuple[object, Attempt]] = OrderedDict()
        self._lock = Lock()

    def of(self, run: object) -> Attempt:
        """The attempt that `run` is, made at its first step."""
        with self._lock:
            _, attempt = self._known.setdefault(id(run), (run, Attempt()))
            self._known.move_to_end(id(run))
            if len(self._known) > MOST_RUNS:
                self._known.popitem(last=False)
            return attempt


_attempts = Attempts()
_signer = Signer()


def lease_of(parts: Parts, state: State, runtime: Runtime[Context]) -> Lease | None:
    """The lease of the branch that `state` is on; None where nothing of it is kept."""
    info = runtime.execution_info
    thread_id = info.thread_id if info else None
    record = parts.environments.lease(thread_id, state.get("hw_branch", ""))
    return Lease(record, _attempts.of(runtime.control)) if record else None


@contextmanager
def hold(lease: Lease | None) -> Iterator[Check]:
    """Hold the lease for one step; free after an error, an interrupt included."""
    if lease is None:
        yield _unfenced
        return
    lease.take()
    try:
        with _signer.signing(lease):
            yield lease.check
    except BaseException:
        lease.free()
        raise
    lease.leave()


@asynccontextmanager
async def ahold(lease: Lease | None) -> AsyncIterator[Check]:
    """`hold`, with the disk and the waiting off the event loop."""
    if lease is None:
        yield _unfenced
        return
    try:
        await _take(lease)
        with _signer.signing(lease):
            yield lease.check
    except BaseException:
        await asyncio.to_thread(lease.free)
        raise
    await asyncio.to_thread(lease.leave)


async def _take(lease: Lease) -> None:
    """In steps, so that a cancelled run stops waiting."""
    while True:
        if await asyncio.to_thread(lease.try_take):
            return
        await asyncio.sleep(PAUSE)


def _unfenced() -> None:
    """A run without a thread: nobody else can be on it."""


class Node(Protocol):
    """A node as LangGraph calls it."""

    def __call__(self, state: State, runtime: Runtime[Context]) -> Update: ...


Body = Callable[Concatenate[State, Runtime[Context], ...], Update]
AsyncBody = Callable[Concatenate[State, Runtime[Context], ...], Awaitable[Update]]


def fenced(body: Body, parts: Parts) -> Node:
    """The node of `body`, which holds the lease; an outcome ends the run and frees it."""

    def node(state: State, runtime: Runtime[Context]) -> Update:
        lease = lease_of(parts, state, runtime)
        with hold(lease):
            update = body(state, runtime, parts=parts)
        _end(lease, update)
        return update

    return node


def afenced(
    body: AsyncBody, parts: Parts
) -> Callable[[State, Runtime[Context]], Awaitable[Update]]:
    """`fenced`, asynchronously."""

    async def node(state: State, runtime: Runtime[Context]) -> Update:
        lease = lease_of(parts, state, runtime)
        async with ahold(lease):
            update = await body(state, runtime, parts=parts)
        await asyncio.to_thread(_end, lease, update)
        return update

    return node


def _end(lease: Lease | None, update: Any) -> None:
    if lease is not None and update.get("outcome"):
        lease.free()
