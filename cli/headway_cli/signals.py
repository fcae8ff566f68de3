"""Ctrl-C: once, the running step ends and all is saved; twice, or SIGTERM, it stops now."""

import asyncio
import signal
from typing import Protocol

from headway_cli.streams import tell


class Stoppable(Protocol):
    """What the signals act on (`headway.run.Control`)."""

    def stop(self) -> None: ...

    def now(self) -> None: ...


class StopSignals:
    """SIGINT and SIGTERM of a process whose event loop drives a run."""

    def __init__(self, control: Stoppable) -> None:
        self._control = control
        self._interrupted = False
        self.terminated = False
        """SIGTERM came."""

    def install(self, loop: asyncio.AbstractEventLoop) -> None:
        """Handle both until `loop` is closed."""
        loop.add_signal_handler(signal.SIGINT, self._interrupt)
        loop.add_signal_handler(signal.SIGTERM, self._terminate)

    def _interrupt(self) -> None:
        if self._interrupted:
            self._control.now()
            return
        self._interrupted = True
        self._control.stop()
        tell("\nstopping after this step; Ctrl-C again stops now")

    def _terminate(self) -> None:
        self.terminated = True
        self._control.now()
