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

    def __init__(self, control: Stoppable) -> None:
        self._control = control
        self._interrupted = False
        self.ended_by = 0
        """The signal that ended the run, for others than Ctrl-C."""

    def install(self, loop: asyncio.AbstractEventLoop) -> None:
        """Handle them until `loop` is closed; a SIGHUP that `nohup` ignores stays ignored."""
        loop.add_signal_handler(signal.SIGINT, self._interrupt)
        loop.add_signal_handler(signal.SIGTERM, self._end, signal.SIGTERM)
        if signal.getsignal(signal.SIGHUP) != signal.SIG_IGN:
            loop.add_signal_handler(signal.SIGHUP, self._end, signal.SIGHUP)

    def _interrupt(self) -> None:
        if self._interrupted:
            tell("\nstopping now")
            self._control.now()
            return
        self._interrupted = True
        self._control.stop()
        tell("\nstopping when the call that runs has ended; Ctrl-C again stops it now")

    def _end(self, number: int) -> None:
        self.ended_by = int(number)
        self._control.now()
