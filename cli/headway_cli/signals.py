"""Ctrl-C: once, the running step ends and all is saved; twice, or SIGTERM, it stops now."""

import signal
import sys
import threading
from types import FrameType, TracebackType
from typing import Self


class StopSignals:
    """Handles SIGINT and SIGTERM while a run goes on; the old handlers come back afterwards."""

    def __init__(self) -> None:
        self.stop = threading.Event()
        """Set by the first signal: end after the running step."""
        self.terminated = False
        """The signal was SIGTERM."""

    def __enter__(self) -> Self:
        self._old = {
            number: signal.signal(number, self._handle)
            for number in (signal.SIGINT, signal.SIGTERM)
        }
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        for number, handler in self._old.items():
            signal.signal(number, handler)

    def _handle(self, number: int, frame: FrameType | None) -> None:
        if number == signal.SIGTERM:
            self.terminated = True
            self.stop.set()
            raise KeyboardInterrupt
        if self.stop.is_set():
            raise KeyboardInterrupt
        self.stop.set()
        sys.stderr.write("\nstopping after this step; Ctrl-C again stops now\n")
