"""`--sandbox none`: the same runner, environment and limits, and no isolation at all."""

import contextlib
import os
import shutil
import signal
import subprocess

from headway_tools.errors import SandboxError
from headway_tools.sandbox.execution import Execution, check_command
from headway_tools.sandbox.policy import Cancel, CommandResult, SandboxKind, SandboxPolicy
from headway_tools.sandbox.private import PrivateFolder
from headway_tools.sandbox.protected import Protection
from headway_tools.sandbox.runner import Descriptors
from headway_tools.sandbox.wrapper import STATUS_FD


class UnconfinedSandbox:
    """Commands run as the user, in a session of their own, which is ended as a group.

    A child that leaves the session survives; nothing holds a protected path but the comparison
    afterwards.
    """

    kind: SandboxKind = "none"

    def __init__(
        self,
        policy: SandboxPolicy,
        private: PrivateFolder,
        environment: dict[str, str],
        protection: Protection,
    ) -> None:
        self.policy = policy
        self._private = private
        self._environment = environment
        self._protection = protection

    def run(self, command: str, *, timeout: float, cancel: Cancel | None = None) -> CommandResult:
        check_command(command)
        return self._protection.around(lambda: self._run(command, timeout, cancel))

    def _run(self, command: str, timeout: float, cancel: Cancel | None) -> CommandResult:
        execution = Execution(self.policy.limits)
        with Descriptors() as fds:
            status, report_to = fds.pipe()
            with self._start(command, report_to) as process:
                fds.close(report_to)
                execution.watch(
                    process, status, timeout=timeout, cancel=cancel, end=lambda: _end(process)
                )
        return execution.result(None if execution.was_ended else process.returncode)

    def _start(self, command: str, report_to: int) -> "subprocess.Popen[bytes]":
        own = {"BASH_ENV": str(self._private.start_file), STATUS_FD: str(report_to)}
        try:
            return subprocess.Popen(
                [*_die_with_parent(), "/bin/bash", "-c", command],
                cwd=self.policy.root,
                env=self._environment | own,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                pass_fds=(report_to,),
                start_new_session=True,
            )
        except OSError as error:
            raise SandboxError(
                f"cannot run bash in {self.policy.root}: {error.strerror}"
            ) from error


def _die_with_parent() -> list[str]:
    setpriv = shutil.which("setpriv")
    return [setpriv, "--pdeathsig", "KILL", "--"] if setpriv else []


def _end(process: "subprocess.Popen[bytes]") -> None:
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
