"""What the sandbox holds on this host, and what it cannot: data for `headway doctor`."""

import os
import shutil
from dataclasses import dataclass

from headway_tools.sandbox.cgroups import find_controllers
from headway_tools.sandbox.opening import probe
from headway_tools.sandbox.policy import SandboxLimits
from headway_tools.sandbox.seccomp import USERS_MODES, seccomp_filter


@dataclass(frozen=True)
class Capability:
    """One thing that is held or not; `detail` says by what, or what would mend it."""

    name: str
    held: bool
    detail: str


def capabilities(limits: SandboxLimits | None = None) -> tuple[Capability, ...]:
    """All of them, the isolation first. Tries things out: some 50 ms the first time."""
    limits = limits or SandboxLimits()
    isolation = probe()
    first = Capability("isolation", isolation.ok, str(isolation.bwrap or isolation.line))
    filtered = seccomp_filter(USERS_MODES) is not None
    machine = os.uname().machine
    return (
        first,
        Capability(
            "system call filter", filtered, f"seccomp on {machine}" if filtered else machine
        ),
        _processes(limits),
        _memory(limits),
        Capability("file size", True, f"{limits.file_bytes} bytes for each file"),
        Capability("disk space", False, "only the size of each file is limited"),
        _owner(),
    )


def _processes(limits: SandboxLimits) -> Capability:
    if find_controllers().processes is not None:
        return Capability("processes", True, f"{limits.processes}, by a pids control group")
    if os.geteuid() != 0:
        return Capability("processes", True, f"{limits.processes}, by RLIMIT_NPROC")
    detail = "for root only a pids control group limits them, and none can be made here"
    return Capability("processes", False, f"{detail}: run headway as an ordinary user")


def _memory(limits: SandboxLimits) -> Capability:
    each = f"{limits.memory_bytes} bytes for each process"
    if find_controllers().memory is not None:
        total = f"{limits.total_memory_bytes} bytes for the command, by a memory control group"
        return Capability("memory", True, f"{each}; {total}")
    return Capability("memory", False, f"{each}, but no control group can limit the whole command")


def _owner() -> Capability:
    name = "workspace of another user"
    if os.geteuid() != 0:
        return Capability(name, False, "only root can work as the workspace's owner")
    missing = [tool for tool in ("unshare", "nsenter", "setpriv") if shutil.which(tool) is None]
    return Capability(
        name, not missing, f"needs {', '.join(missing)}" if missing else "as its owner"
    )
