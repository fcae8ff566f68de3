"""Calls that are left behind when late, in threads that are used again."""

import os
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextvars import ContextVar

import pytest

from headway.within import MOST_IDLE, TooLate, call_within

_place: ContextVar[str] = ContextVar("place")


def _raiser(error: BaseException) -> Callable[[], None]:
    def call() -> None:
        raise error

    return call


@pytest.mark.parametrize(
    "error", [ValueError("no"), TimeoutError("its own"), SystemExit(3), KeyboardInterrupt()]
)
def test_what_the_call_raises_comes_out_as_it_is(error: BaseException) -> None:
    with pytest.raises(type(error)) as caught:
        call_within(_raiser(error), 5)
    assert caught.value is error


def test_the_call_sees_the_context_of_its_caller() -> None:
    token = _place.set("here")
    try:
        assert call_within(_place.get, 5) == "here"
    finally:
        _place.reset(token)


def test_a_late_call_is_left_behind_and_what_it_returns_later_is_dropped() -> None:
    go, gone = threading.Event(), threading.Event()

    def slow() -> str:
        go.wait(30)
        gone.set()
        return "late"

    with pytest.raises(TooLate, match=r"0\.05 s"):
        call_within(slow, 0.05)
    assert call_within(lambda: "next", 5) == "next"
    go.set()
    assert gone.wait(30)
    assert call_within(lambda: "after", 5) == "after"


def test_one_call_after_another_uses_the_same_threads() -> None:
    used = {call_within(threading.get_ident, 5) for _ in range(200)}
    assert len(used) <= MOST_IDLE


def test_many_calls_at_once_each_get_their_own_answer_and_few_threads_stay() -> None:
    together = threading.Barrier(40)

    def call(number: int) -> int:
        together.wait(30)
        return number

    with ThreadPoolExecutor(40) as pool:
        found = list(pool.map(lambda number: call_within(lambda: call(number), 30), range(40)))
    assert found == list(range(40))
    for _ in range(1000):
        kept = [thread for thread in threading.enumerate() if thread.name == "headway-call"]
        if len(kept) <= MOST_IDLE:
            break
        threading.Event().wait(0.01)
    assert len(kept) <= MOST_IDLE


@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_a_forked_child_does_not_wait_for_threads_that_it_does_not_have() -> None:
    call_within(lambda: None, 5)
    child = os.fork()
    if child == 0:
        os._exit(call_within(lambda: 7, 20))
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
