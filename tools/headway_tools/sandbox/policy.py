"""What a sandbox is asked for and what it answers: values and one protocol, no processes.

A policy is fixed for one branch of one thread; each command is a call of `Sandbox.run`.
"""

import contextlib
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal, Protocol

SandboxKind = Literal["bubblewrap", "none"]

DEFAULT_HIDE: Final = (
    ".env*",
    "!.env.example",
    "!.env.sample",
    "!.env.template",
    "!.env.dist",
)
"""Files of secrets by convention, and the examples of them that a project shares."""

MIB: Final = 1024 * 1024


@dataclass(frozen=True)
class SandboxLimits:
    """Limits of one command. Memory and file size hold per process, `total_*` per command.

    `processes` needs an ordinary user or a pids cgroup, `total_memory_bytes` a memory cgroup;
    `capabilities()` says which of them this host gives.
    """

    memory_bytes: int = 4096 * MIB
    total_memory_bytes: int = 8192 * MIB
    processes: int = 1024
    file_bytes: int = 4096 * MIB
    open_files: int = 4096
    shm_bytes: int = 256 * MIB
    output_bytes: int = 16 * MIB
    """Kept of stdout and of stderr each: the first and the last half."""
    printed_bytes: int = 1024 * MIB
    """A command that prints more than this is ended."""


@dataclass(frozen=True)
class SandboxPolicy:
    """What a command may see and change.

    `path` is where the workspace stands inside: the name that the model and the history use.
    `root` is the real folder, another one on a branch or a copy. `private` is a folder of
    headway whose `home` and `tmp` become HOME and /tmp; it and the `withheld` folders, where they
    lie in the workspace, appear empty there, as do the user's keys. `protect` and `hide` are paths
    or globs as `headway_tools.patterns` reads them; `hide` goes by name at any depth, too.
    """

    path: Path
    root: Path
    private: Path
    protect: tuple[str, ...] = ()
    hide: tuple[str, ...] = DEFAULT_HIDE
    network: bool = False
    read_only: tuple[Path, ...] = ()
    withheld: tuple[Path, ...] = ()
    limits: SandboxLimits = SandboxLimits()

    @property
    def never_seen(self) -> tuple[Path, ...]:
        """What no command sees, wherever it lies: headway's own folders."""
        return (*self.withheld, self.private)


@dataclass(frozen=True)
class CommandResult:
    """How a command ended. `exit_code` is None only where it was ended from outside."""

    exit_code: int | None
    stdout: str
    stderr: str
    seconds: float
    truncated: bool = False
    omitted: int = 0
    """Bytes of stdout and stderr that were not kept."""
    timed_out: bool = False
    cancelled: bool = False
    flooded: bool = False
    """Ended because it printed more than `SandboxLimits.printed_bytes`."""
    signal: str | None = None
    stages: tuple[int, ...] = ()
    """Exit code of each stage of the last pipeline, where it had more than one."""
    background: int = 0
    """Background jobs of the shell that were ended when it returned."""
    repaired: tuple[str, ...] = ()
    """Protected paths that had been changed and were put back."""


class Cancel:
    """A one-shot signal that `poll` can wait for: readable once triggered."""

    def __init__(self) -> None:
        self._fd: int | None = os.eventfd(0, os.EFD_CLOEXEC | os.EFD_NONBLOCK)

    def fileno(self) -> int:
        """The descriptor, -1 after `close`."""
        return -1 if self._fd is None else self._fd

    def trigger(self) -> None:
        """Ask the call to end. Does nothing after `close`."""
        if self._fd is not None:
            with contextlib.suppress(BlockingIOError):
                os.eventfd_write(self._fd, 1)

    def close(self) -> None:
        """Give the descriptor back."""
        fd, self._fd = self._fd, None
        if fd is not None:
            os.close(fd)


class Sandbox(Protocol):
    """Where commands run. `run` is synchronous; `run_in_thread` makes it a coroutine."""

    @property
    def kind(self) -> SandboxKind: ...

    @property
    def policy(self) -> SandboxPolicy: ...

    def run(self, command: str, *, timeout: float, cancel: Cancel | None = None) -> CommandResult:
        """Run `command` in bash and return when it and all its children are gone.

        `timeout` is in seconds. Raises `SandboxError` when the isolation could not be set up
        or broke: then nothing is said about the command.
        """
        ...
