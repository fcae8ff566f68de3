"""Calls with an end: made in a thread that is kept for the next call, left behind when late.

A new thread for each call would be a tenth of the cost of a round.
"""

import os
import threading
from collections import defaultdict
from collections.abc import Callable
from contextvars import copy_context
from functools import partial
from queue import Empty, SimpleQueue
from typing import Final, NoReturn, TypeVar

T = TypeVar("T")
Work = Callable[[], None]

MOST_IDLE: Final = 8
"""Threads kept; more calls at once get threads of their own."""

_idle: defaultdict[int, list[SimpleQueue[Work]]] = defaultdict(list)
"""Where the waiting threads of a process take their work from; a forked child has none."""


class TooLate(TimeoutError):
    """The call has not come back in its time; whatever it returns later is dropped."""


def call_within(call: Callable[[], T], seconds: float) -> T:
    """What `call` returns or raises, in this context.

    Raises:
        TooLate: after `seconds`; the call goes on in its thread.
    """
    results: SimpleQueue[Callable[[], T]] = SimpleQueue()

    def work() -> None:
        try:
            result = call()
        except BaseException as error:
            results.put(partial(_raise, error))
        else:
            results.put(lambda: result)

    _start(partial(copy_context().run, work))
    try:
        take = results.get(timeout=min(seconds, threading.TIMEOUT_MAX))
    except Empty:
        raise TooLate(f"no result within {seconds:g} s") from None
    return take()


def _raise(error: BaseException) -> NoReturn:
    raise error


def _start(work: Work) -> None:
    try:
        tasks = _idle[os.getpid()].pop()
    except IndexError:
        tasks = SimpleQueue()
        threading.Thread(target=_serve, args=(tasks,), name="headway-call", daemon=True).start()
    tasks.put(work)


def _serve(tasks: SimpleQueue[Work]) -> None:
    """Do one piece of work after another, until enough other threads wait for some."""
    idle = _idle[os.getpid()]
    while True:
        tasks.get()()
        if len(idle) >= MOST_IDLE:
            return
        idle.append(tasks)
