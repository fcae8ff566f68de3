"""Ctrl-C: once, the running step ends and all is saved; twice, SIGTERM or SIGHUP, it stops now."""

import asyncio
import signal
from typing import Protocol

from headway_cli.streams import tell


class Stoppable(Protocol):
    """What the signals act on (`headway.run.Control`)."""

    def stop(self) -> None: ...

    def now(self) -> None: ...


class StopSignals:
    """Ctrl-C, SIGTERM and SIGHUP of a process whose event loop drives a run."""

    def __init__(self) -> None:
        self._interrupts = 0
        self.ended_by = 0
        """The newest signal that came to end the run; 0: none."""

    def install(self, loop: asyncio.AbstractEventLoop, control: Stoppable) -> None:
        """Handle them until `loop` is closed; a SIGHUP that `nohup` ignores stays ignored."""
        loop.add_signal_handler(signal.SIGINT, self._interrupt, control)
        loop.add_signal_handler(signal.SIGTERM, self._end, signal.SIGTERM, control)
        if signal.getsignal(signal.SIGHUP) != signal.SIG_IGN:
            loop.add_signal_handler(signal.SIGHUP, self._end, signal.SIGHUP, control)

    def _interrupt(self, control: Stoppable) -> None:
        """A third one would only disturb what the second one began."""
        self.ended_by = int(signal.SIGINT)
        self._interrupts += 1
        if self._interrupts == 1:
            control.stop()
            tell("\nstopping when the call that runs has ended; Ctrl-C again stops it now")
        elif self._interrupts == 2:
            control.now()
            tell("\nstopping now")

    def _end(self, number: int, control: Stoppable) -> None:
        self.ended_by = int(number)
        control.now()
