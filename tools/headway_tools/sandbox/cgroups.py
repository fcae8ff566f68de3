"""A control group for each command, where this host lets us make one.

It counts processes and memory of the whole command, also for root, where RLIMIT_NPROC holds
nobody. Version 2 needs a delegated subtree (a systemd user session), version 1 needs root.
"""

import contextlib
import itertools
import os
import subprocess
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Final

from headway_tools.sandbox.policy import SandboxLimits

_NAMES: Final = itertools.count()
_ROOT: Final = Path("/sys/fs/cgroup")
_left: list[Path] = []
_left_lock: Final = threading.Lock()


@dataclass(frozen=True)
class Controllers:
    """Folders in which a new group holds processes, or memory; None where there is none."""

    processes: Path | None
    memory: Path | None


@cache
def find_controllers() -> Controllers:
    """Tried by making a group, once per process."""
    own = dict(_own_groups())
    unified = _unified(own)
    if unified is not None:
        return Controllers(unified, unified)
    pids, memory = (_version_one(own, name) for name in ("pids", "memory"))
    return Controllers(pids, memory)


class ControlGroup:
    """The groups of one command; `add` before it begins, `close` after its end."""

    def __init__(self, limits: SandboxLimits) -> None:
        found = find_controllers()
        name = f"headway-{os.getpid()}-{next(_NAMES)}"
        settings = _settings(found, limits)
        self._folders: list[Path] = []
        for parent in dict.fromkeys(settings):
            folder = parent / name
            with contextlib.suppress(OSError):
                folder.mkdir()
                self._folders.append(folder)
                for file, value in settings[parent]:
                    _set(folder / file, value)

    def add(self, pid: int) -> None:
        """Count `pid` and all that it will start."""
        for folder in self._folders:
            _set(folder / "cgroup.procs", pid)

    def close(self) -> None:
        """Remove the groups; those that the kernel still holds go with a later one."""
        with _left_lock:
            _left[:] = [folder for folder in (*_left, *self._folders) if not _removed(folder)]


def _settings(found: Controllers, limits: SandboxLimits) -> dict[Path, list[tuple[str, int]]]:
    settings: dict[Path, list[tuple[str, int]]] = {}
    if found.processes is not None:
        settings.setdefault(found.processes, []).append(("pids.max", limits.processes))
    if found.memory is not None:
        names = ("memory.max", "memory.limit_in_bytes")
        entries = settings.setdefault(found.memory, [])
        entries += [(name, limits.total_memory_bytes) for name in names]
        entries.append(("memory.swap.max", 0))
    return settings


def _own_groups() -> Iterator[tuple[str, str]]:
    """(controllers, path) of this process; no controllers is version 2."""
    with contextlib.suppress(OSError):
        for line in Path("/proc/self/cgroup").read_text().splitlines():
            _, controllers, path = line.split(":", 2)
            yield controllers, path.lstrip("/")


def _version_one(own: dict[str, str], controller: str) -> Path | None:
    for controllers, path in own.items():
        if controller in controllers.split(","):
            folder = _ROOT / controllers / path
            return folder if _can_hold(folder, ()) else None
    return None


def _unified(own: dict[str, str]) -> Path | None:
    """A group beside our own: a group with processes in it may hold no others."""
    if "" not in own or not own[""]:
        return None
    parent = (_ROOT / own[""]).parent
    return parent if _can_hold(parent, ("pids", "memory")) else None


def _can_hold(parent: Path, controllers: tuple[str, ...]) -> bool:
    """Whether a group with `controllers` can be made below `parent` and a child moved into it."""
    trial = parent / f"headway-{os.getpid()}-trial"
    try:
        trial.mkdir()
        given = (trial / "cgroup.controllers").read_text().split() if controllers else []
        with subprocess.Popen(["/bin/cat"], stdin=subprocess.PIPE) as child:
            (trial / "cgroup.procs").write_text(str(child.pid))
        return set(controllers) <= set(given)
    except OSError:
        return False
    finally:
        if not _removed(trial):
            _left.append(trial)
        _sweep(parent)


def _removed(folder: Path) -> bool:
    try:
        folder.rmdir()
    except FileNotFoundError:
        return True
    except OSError:
        return False
    return True


def _sweep(parent: Path) -> None:
    """Groups of processes that were killed before they could remove them."""
    with contextlib.suppress(OSError):
        for folder in parent.glob("headway-*-*"):
            pid = folder.name.split("-")[1]
            if not Path("/proc", pid).exists():
                _removed(folder)


def _set(path: Path, value: int) -> None:
    with contextlib.suppress(OSError):
        path.write_text(str(value))
