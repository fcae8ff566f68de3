"""The arguments of bwrap for one command: a function of values, in the order that mounts need.

Why each is there, and what was seen to leak or escape without it, is told in docs/security.md.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from headway_tools.sandbox.mounts import MountPlan, places_in
from headway_tools.sandbox.policy import SandboxPolicy
from headway_tools.sandbox.private import PrivateFolder
from headway_tools.sandbox.system import system_folders

SHOWN: Final = "/run/headway"
HOME: Final = "/home/agent"

_MASKED_PROC: Final = "keys timer_list vmallocinfo slabinfo"


@dataclass(frozen=True)
class Identity:
    """Who the command is.

    `inside` is the (uid, gid) that it sees. `namespace` is the descriptor of a prepared user
    namespace, where the host's root works for the workspace's owner.
    """

    inside: tuple[int, int]
    is_host_root: bool = False
    namespace: int | None = None


@dataclass(frozen=True)
class Box:
    """All that one command's arguments are made from, besides what is on the disk."""

    policy: SandboxPolicy
    private: PrivateFolder
    toolchains: tuple[Path, ...]
    identity: Identity
    etc: Mapping[str, int]
    """Descriptors of the files of /etc, by name."""
    seccomp_fd: int | None


def bwrap_arguments(box: Box, plan: MountPlan, environment: Mapping[str, str]) -> list[str]:
    """Everything but the command itself."""
    return [
        *_namespaces(box),
        *(word for name, value in environment.items() for word in ("--setenv", name, value)),
        *_system(box),
        *_kernel_files(box),
        *_private_places(box),
        *_folders_above(box),
        *_read_only(box),
        *_workspace(box, plan),
        *("--remount-ro", "/", "--chdir", str(box.policy.path)),
        *(() if box.seccomp_fd is None else ("--seccomp", str(box.seccomp_fd))),
    ]


def _namespaces(box: Box) -> Iterator[str]:
    identity = box.identity
    if identity.namespace is not None:
        yield from ("--userns", str(identity.namespace))
    else:
        yield from ("--unshare-user", "--disable-userns")
        uid, gid = identity.inside
        yield from ("--uid", str(uid), "--gid", str(gid))
    yield from ("--unshare-pid", "--unshare-ipc", "--unshare-uts", "--unshare-cgroup-try")
    if not box.policy.network:
        yield "--unshare-net"
    yield from ("--new-session", "--die-with-parent", "--hostname", "sandbox", "--clearenv")
    yield from ("--cap-drop", "ALL")
    if identity.namespace is not None:
        yield from ("--cap-add", "CAP_SETUID", "--cap-add", "CAP_SETGID")


def _system(box: Box) -> Iterator[str]:
    yield from ("--perms", "0755", "--tmpfs", "/")
    for top in ("/etc", "/run", "/var", "/home"):
        yield from ("--perms", "0755", "--dir", top)
    yield from ("--ro-bind", "/usr", "/usr")
    for top in ("/bin", "/sbin", "/lib", "/lib64"):
        if Path(top).is_symlink():
            yield from ("--symlink", str(Path(top).readlink()), top)
        else:
            yield from ("--ro-bind-try", top, top)
    for folder in system_folders():
        yield from _bind(folder, folder, read_only=True)
    for name, fd in box.etc.items():
        yield from ("--perms", "0644", "--file", str(fd), f"/etc/{name}")


def _kernel_files(box: Box) -> Iterator[str]:
    """For the host's root /proc/sys is writable from inside (core_pattern runs code there)."""
    yield from ("--proc", "/proc", "--ro-bind", "/proc/sys", "/proc/sys")
    for name in _MASKED_PROC.split() if box.identity.is_host_root else ("keys",):
        if Path("/proc", name).exists():
            yield from ("--ro-bind", "/dev/null", f"/proc/{name}")
    yield from ("--dev", "/dev")
    size = str(box.policy.limits.shm_bytes)
    yield from ("--perms", "1777", "--size", size, "--tmpfs", "/dev/shm", "--remount-ro", "/dev")


def _private_places(box: Box) -> Iterator[str]:
    yield from ("--bind", str(box.private.home), HOME)
    yield from ("--bind", str(box.private.tmp), "/tmp", "--symlink", "../tmp", "/var/tmp")
    yield from ("--ro-bind", str(box.private.shown), SHOWN)


def _folders_above(box: Box) -> Iterator[str]:
    """Those that bwrap makes by itself could be entered by nobody but who makes them.

    Below /tmp and HOME they lie on the disk: `clear_way` makes them.
    """
    shown = (*box.toolchains, *box.policy.read_only, box.policy.path)
    above = {folder for path in shown for folder in path.parents if folder != Path("/")}
    for folder in sorted(above):
        if not folder.is_relative_to("/tmp") and not folder.is_relative_to(HOME):
            yield from ("--perms", "0755", "--dir", str(folder))


def _read_only(box: Box) -> Iterator[str]:
    for folder in (*box.toolchains, *box.policy.read_only):
        yield from _bind(folder, folder, read_only=True)
        for place in places_in(folder, box.policy.never_seen):
            yield from _bind(box.private.empty_folder, folder / place, read_only=True)


def _workspace(box: Box, plan: MountPlan) -> Iterator[str]:
    """After /tmp, else a workspace below it would vanish; the outer mounts before the inner."""
    root, path = box.policy.root, box.policy.path
    yield from _bind(root, path)
    for name in plan.pinned:
        yield from _bind(root / name, path / name)
    for name in plan.read_only:
        yield from _bind(root / name, path / name, read_only=True)
    for name in plan.hidden_folders:
        yield from _bind(box.private.empty_folder, path / name, read_only=True)
    for name in plan.hidden_files:
        yield from _bind(box.private.empty_file, path / name, read_only=True)


def _bind(source: Path, target: Path, *, read_only: bool = False) -> Iterable[str]:
    return ("--ro-bind" if read_only else "--bind", str(source), str(target))
