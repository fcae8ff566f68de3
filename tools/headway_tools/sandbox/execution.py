"""A bash process from its start to the result, the same for every kind of sandbox."""

import os
import subprocess
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

from headway_tools.sandbox.output import Capture
from headway_tools.sandbox.policy import Cancel, CommandResult, SandboxLimits
from headway_tools.sandbox.runner import Pump
from headway_tools.sandbox.wrapper import ShellReport, pipeline_stages, read_report, signal_name

MAX_COMMAND_BYTES: Final = 120_000
"""The kernel takes 128 KiB in one argument."""

_MAX_REPORT: Final = 1 << 16
_PIPE_BUFFERS: Final = 1 << 21


@dataclass
class Execution:
    """What was seen of one command so far."""

    limits: SandboxLimits
    pump: Pump = field(default_factory=Pump)
    timed_out: bool = False
    cancelled: bool = False
    flooded: bool = False
    seconds: float = 0.0

    def __post_init__(self) -> None:
        self._stdout = Capture(self.limits.output_bytes)
        self._stderr = Capture(self.limits.output_bytes)
        self._report = bytearray()

    @property
    def report(self) -> ShellReport:
        return read_report(bytes(self._report))

    def watch(
        self,
        process: "subprocess.Popen[bytes]",
        status_fd: int,
        *,
        timeout: float,
        cancel: Cancel | None,
        end: Callable[[], None],
    ) -> None:
        """Follow `process` until it ends, time is over, `cancel` or a flood; then call `end`.

        `end` must leave no process behind; what the pipes still hold is read after it.
        """
        assert process.stdout is not None
        assert process.stderr is not None
        started = time.monotonic()
        self.pump.read(process.stdout.fileno(), lambda data: self._printed(self._stdout, data))
        self.pump.read(process.stderr.fileno(), lambda data: self._printed(self._stderr, data))
        self.pump.read(status_fd, self._reported)
        ended = os.pidfd_open(process.pid)
        try:
            self.pump.watch(ended, self.pump.stop)
            if cancel is not None:
                self.pump.watch(cancel.fileno(), self._cancel)
            self.timed_out = not self.pump.run(started + timeout)
        finally:
            os.close(ended)
            end()
            self.seconds = time.monotonic() - started
        self.pump.drain(_PIPE_BUFFERS)

    def result(self, exit_code: int | None) -> CommandResult:
        """The result for the command that ended with `exit_code` (None: it was ended)."""
        stdout, omitted_out = self._stdout.text()
        stderr, omitted_err = self._stderr.text()
        return CommandResult(
            exit_code=exit_code,
            stdout=stdout,
            stderr=stderr,
            seconds=self.seconds,
            truncated=bool(omitted_out or omitted_err),
            omitted=omitted_out + omitted_err,
            timed_out=self.timed_out,
            cancelled=self.cancelled,
            flooded=self.flooded,
            signal=signal_name(exit_code),
            stages=pipeline_stages(self.report, exit_code),
            background=self.report.background,
        )

    @property
    def was_ended(self) -> bool:
        """We ended it; its exit code says nothing."""
        return self.timed_out or self.cancelled or self.flooded

    def _printed(self, capture: Capture, data: bytes) -> None:
        capture.feed(data)
        if self._stdout.total + self._stderr.total > self.limits.printed_bytes:
            self.flooded = True
            self.pump.stop()

    def _reported(self, data: bytes) -> None:
        self._report += data
        del self._report[:-_MAX_REPORT]

    def _cancel(self) -> None:
        self.cancelled = True
        self.pump.stop()


def check_command(command: str) -> None:
    """`ValueError` for a text that no process can be started with."""
    if "\0" in command:
        raise ValueError("a command cannot hold a NUL character")
    if len(os.fsencode(command)) > MAX_COMMAND_BYTES:
        raise ValueError(f"a command has at most {MAX_COMMAND_BYTES} bytes: write a script file")
