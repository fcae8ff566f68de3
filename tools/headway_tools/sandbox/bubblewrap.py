"""Commands in bubblewrap: namespaces of their own, and proof that they are gone afterwards."""

import contextlib
import json
import os
import signal
import subprocess
from functools import partial
from pathlib import Path
from typing import Final

from headway_tools.errors import SandboxError
from headway_tools.hidden import HiddenSearch
from headway_tools.sandbox.arguments import (
    HOME,
    SHOWN,
    Box,
    bwrap_arguments,
)
from headway_tools.sandbox.causes import explain
from headway_tools.sandbox.cgroups import ControlGroup
from headway_tools.sandbox.execution import Execution, check_command
from headway_tools.sandbox.guard import guard_group
from headway_tools.sandbox.identity import SwitchingIdentity
from headway_tools.sandbox.locate import Bubblewrap
from headway_tools.sandbox.mounts import plan_mounts
from headway_tools.sandbox.policy import Cancel, CommandResult, SandboxKind, SandboxPolicy
from headway_tools.sandbox.private import PrivateFolder, clear_way
from headway_tools.sandbox.protected import Protection
from headway_tools.sandbox.runner import Descriptors, wait_readable
from headway_tools.sandbox.seccomp import ROOTS_MODES, USERS_MODES, seccomp_filter
from headway_tools.sandbox.system import system_files
from headway_tools.sandbox.toolchains import Toolchains
from headway_tools.sandbox.wrapper import STATUS_FD
from headway_tools.withheld import keys_of_user

_SECONDS_TO_DIE: Final = 10.0


class BubblewrapSandbox:
    """One branch's sandbox; calls of `run` may overlap."""

    kind: SandboxKind = "bubblewrap"

    def __init__(
        self,
        policy: SandboxPolicy,
        bwrap: Bubblewrap,
        private: PrivateFolder,
        toolchains: Toolchains,
        identity: SwitchingIdentity,
        environment: dict[str, str],
        protection: Protection,
    ) -> None:
        self.policy = policy
        self._bwrap = bwrap
        self._private = private
        self._toolchains = toolchains
        self._identity = identity
        self._environment = environment
        self._protection = protection
        self._hidden = HiddenSearch(policy.hide)
        self._seccomp = seccomp_filter(ROOTS_MODES if identity.shown.is_host_root else USERS_MODES)

    def run(self, command: str, *, timeout: float, cancel: Cancel | None = None) -> CommandResult:
        check_command(command)
        return self._protection.around(lambda: self._run(command, timeout, cancel))

    def _run(self, command: str, timeout: float, cancel: Cancel | None) -> CommandResult:
        execution = Execution(self.policy.limits)
        group = ControlGroup(self.policy.limits)
        with contextlib.closing(group), Descriptors() as fds:
            namespace = _Namespace(fds, group)
            status, report_to = fds.pipe()
            arguments, named = self._arguments(fds, report_to)
            options = [str(self._bwrap.path), "--args", str(arguments), *namespace.argv, "--"]
            argv = [*options, *self._identity.prefix, "/bin/bash", "-c", command]
            with self._start(argv, (*named, *namespace.pass_fds, report_to)) as process:
                for fd in (report_to, *namespace.pass_fds):
                    fds.close(fd)
                execution.pump.read(namespace.status_fd, namespace.learn)
                end = partial(namespace.end, process)
                execution.watch(process, status, timeout=timeout, cancel=cancel, end=end)
        return self._result(execution, namespace)

    def _arguments(self, fds: Descriptors, report_to: int) -> tuple[int, tuple[int, ...]]:
        """The descriptor of bwrap's arguments, and those that the arguments name."""
        policy, folders, identity = self.policy, self._toolchains.folders, self._identity.shown
        files = system_files(identity.inside, HOME, network=policy.network)
        etc = {name: fds.data(name, content) for name, content in files.items()}
        seccomp = fds.data("seccomp", self._seccomp) if self._seccomp else None
        box = Box(policy, self._private, folders, identity, etc, seccomp)
        clear_way(self._private, Path(HOME), (policy.path, *policy.read_only, *folders))
        withheld = (*policy.never_seen, *keys_of_user())
        plan = plan_mounts(policy.root, policy.protect, self._hidden, withheld)
        start = {"BASH_ENV": f"{SHOWN}/start", STATUS_FD: str(report_to)}
        words = bwrap_arguments(box, plan, self._environment | start)
        content = b"".join(os.fsencode(word) + b"\0" for word in words)
        given = fds.data("arguments", content)
        named = (given, *etc.values(), *self._identity.pass_fds)
        return given, named if seccomp is None else (*named, seccomp)

    def _start(self, argv: list[str], fds: tuple[int, ...]) -> "subprocess.Popen[bytes]":
        """With an empty environment: what bwrap itself has is readable inside (/proc/1/environ)."""
        try:
            return subprocess.Popen(
                argv,
                cwd="/",
                env={},
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                pass_fds=fds,
                process_group=guard_group(),
            )
        except OSError as error:
            raise SandboxError(f"cannot start {self._bwrap.path}: {error.strerror}") from error

    def _result(self, execution: Execution, namespace: "_Namespace") -> CommandResult:
        if execution.was_ended:
            return execution.result(None)
        result = execution.result(namespace.exit_code)
        if not execution.report.started:
            raise SandboxError(explain(result.stderr or f"{self._bwrap.path} said nothing"))
        if namespace.exit_code is None:
            raise SandboxError("the sandbox was ended from outside (out of memory?): try again")
        return result


class _Namespace:
    """What bwrap tells about the namespace that it made, and its end."""

    def __init__(self, fds: Descriptors, group: ControlGroup) -> None:
        self._fds = fds
        self._group = group
        self.status_fd, status_to = fds.pipe()
        block, self._release_to = fds.pipe()
        self.pass_fds = (status_to, block)
        self.argv = ("--json-status-fd", str(status_to), "--block-fd", str(block))
        self.exit_code: int | None = None
        self._text = b""
        self._init: int | None = None
        self._ending = False

    def learn(self, data: bytes) -> None:
        """Read bwrap's JSON lines; let the command begin once its first process is held."""
        *lines, self._text = (self._text + data).split(b"\n")
        for line in lines:
            told = json.loads(line)
            self.exit_code = told.get("exit-code", self.exit_code)
            if "child-pid" in told and self._init is None:
                self._hold(told["child-pid"])

    def _hold(self, pid: int) -> None:
        """Its first process is still blocked here, so `pid` is nobody else's."""
        with contextlib.suppress(ProcessLookupError, BrokenPipeError):  # the setup failed
            self._init = self._fds.own(os.pidfd_open(pid))
            self._group.add(pid)
            if not self._ending:
                os.write(self._release_to, b"x")

    def end(self, process: "subprocess.Popen[bytes]") -> None:
        """Kill what is left and return when the last process of the namespace is gone."""
        self._ending = True
        self._read_rest(process)
        if self._init is not None:
            with contextlib.suppress(ProcessLookupError):
                signal.pidfd_send_signal(self._init, signal.SIGKILL)
        process.kill()
        process.wait()
        if self._init is None:
            return
        if not wait_readable(self._init, _SECONDS_TO_DIE):
            raise SandboxError("processes of the command did not end (blocked in the kernel?)")
        with contextlib.suppress(ChildProcessError):  # ours only where we are a container's first
            os.waitid(os.P_PIDFD, self._init, os.WEXITED | os.WNOHANG)

    def _read_rest(self, process: "subprocess.Popen[bytes]") -> None:
        """What bwrap has told; if it has not told its first process yet, wait for that."""
        while self._init is None and process.poll() is None:
            if not wait_readable(self.status_fd, _SECONDS_TO_DIE):
                return
            if not self._read_once():
                return
        while self._read_once():
            pass

    def _read_once(self) -> bool:
        try:
            data = os.read(self.status_fd, 1 << 12)
        except BlockingIOError:
            return False
        self.learn(data)
        return bool(data)
