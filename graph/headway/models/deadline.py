"""The moment at which the model call of this context must be over, for whoever reads its bytes."""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from time import monotonic


@dataclass
class Deadline:
    """`cancelled` is set by the waiting side when it gives up early."""

    seconds: float
    at: float
    cancelled: bool = False

    def left(self) -> float:
        return 0.0 if self.cancelled else self.at - monotonic()


_current: ContextVar[Deadline | None] = ContextVar("headway_deadline", default=None)


@contextmanager
def use_deadline(seconds: float) -> Iterator[Deadline]:
    """Give the model calls below `seconds` in all, slow drips included."""
    deadline = Deadline(seconds, monotonic() + seconds)
    token = _current.set(deadline)
    try:
        yield deadline
    finally:
        _current.reset(token)


def check_deadline() -> None:
    """Raise TimeoutError once the current call's time is up, which closes its connection."""
    deadline = _current.get()
    if deadline and deadline.left() <= 0:
        raise too_late(deadline.seconds)


def too_late(seconds: float) -> TimeoutError:
    """What a call says that got `seconds` and was not over."""
    return TimeoutError(f"no complete reply within {seconds:.3g} s")


def seconds_left() -> float | None:
    """What is left of the current call's time; None without a deadline."""
    deadline = _current.get()
    return max(0.001, deadline.left()) if deadline else None
