"""A host with secrets, services and other processes, around the workspace of one attack."""

import contextlib
import ctypes
import hashlib
import os
import platform
import shutil
import socket
import stat
import subprocess
import threading
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from pathlib import Path

from sandbox.attack import TOKEN

PROTECT = ("tests", "missing.cfg", "absent", "*.lock", "golden", "pkg/deep/keep")

_IPC_CREAT, _IPC_RMID, _SESSION_KEYRING = 0o1000, 0, -3


@dataclass(frozen=True)
class Services:
    """What the host offers on loopback, in memory and in the kernel; each tells the token."""

    tcp: int
    udp: int
    shm: int
    number: int


@dataclass(frozen=True)
class World:
    """`top` holds all folders of one attack."""

    top: Path

    @property
    def home(self) -> Path:
        return self.top / "home"

    @property
    def outside(self) -> Path:
        return self.top / "outside"

    @property
    def workspace(self) -> Path:
        return self.top / "work" / "project"

    @property
    def data(self) -> Path:
        return self.top / "data"

    @property
    def private(self) -> Path:
        return self.data / "private"

    def around(self) -> dict[str, tuple[object, ...]]:
        """Everything of the host but the workspace and what commands may write."""
        own = {str(self.workspace), str(self.private)}
        paths = [path for path in _below(self.top, leave_out=own) if str(path) not in own]
        return {str(path): _fingerprint(path) for path in paths} | {"stored": (self._stored(),)}

    def _stored(self) -> bool:
        return (self.private / "protected" / "x").exists()

    def protected(self) -> dict[str, tuple[object, ...]]:
        """The protected paths, and git's own, that exist."""
        git = [".git/config", ".git/hooks", ".git/info", ".git/commondir", ".git/config.worktree"]
        git += [".git/modules/sub/config", ".git/modules/sub/hooks"]
        fixed = ["tests", "missing.cfg", "absent", "golden", "data/golden.txt", "pkg/deep/keep"]
        names = [*git, *fixed, *(path.name for path in self.workspace.glob("*.lock"))]
        tops = [self.workspace / name for name in names if os.path.lexists(self.workspace / name)]
        return {str(path): _fingerprint(path) for top in tops for path in (top, *_below(top))}

    def has_setuid(self) -> bool:
        return any(
            path.lstat().st_mode & (stat.S_ISUID | stat.S_ISGID)
            for path in self.workspace.rglob("*")
        )


def build_world(top: Path, template: Path) -> World:
    """A fresh world, its workspace a copy of `template`."""
    world = World(top)
    for folder in (world.home / ".ssh", world.outside, world.data, world.top / "work/neighbour"):
        folder.mkdir(parents=True)
    shutil.copytree(template, world.workspace, symlinks=True)
    secrets = (
        *("home/.ssh/id_test", "home/.git-credentials", "home/.bash_history", "home/.bashrc"),
        *("outside/secret", "work/.env", "work/neighbour/secret", "data/journal", "data/secret"),
    )
    for name in secrets:
        (top / name).write_text(TOKEN + "\n")
    (world.home / ".gitconfig").write_text(f"[http]\n\textraHeader = {TOKEN}\n")
    (world.workspace / "link-outside").symlink_to(world.outside)
    (world.workspace / "linked").hardlink_to(world.workspace / "config/.env.production")
    return world


def build_template(path: Path) -> None:
    """A git repository with protected and hidden files, and what looks like a submodule."""
    files = {
        "README": "readme\n",
        "tests/test_a.py": "assert 1\n",
        "data/golden.txt": "golden\n",
        "pkg/deep/keep": "keep\n",
        ".env": TOKEN,
        "config/.env.production": TOKEN,
        "settings/real": TOKEN,
    }
    for name, text in files.items():
        (path / name).parent.mkdir(parents=True, exist_ok=True)
        (path / name).write_text(text)
    (path / "golden").symlink_to("data/golden.txt")
    (path / ".env.link").symlink_to("settings/real")
    git = ["git", "-c", "user.name=t", "-c", "user.email=t@localhost", "-c", "init.defaultBranch=m"]
    for command in (
        ["init", "-q", "--template="],
        ["add", "tests", "data", "pkg"],
        ["commit", "-q", "-m", "start"],
    ):
        subprocess.run([*git, *command], cwd=path, check=True)
    (path / "tests/test_a.py").write_text("assert 1 == 1\n")
    module = path / ".git/modules/sub"
    for folder in ("objects", "hooks"):
        (module / folder).mkdir(parents=True)
    (module / "HEAD").write_text("ref: refs/heads/m\n")
    (module / "config").write_text("[core]\n\tbare = false\n")
    for name in ("info", "hooks"):
        (path / ".git" / name).mkdir(exist_ok=True)


def _below(top: Path, leave_out: Collection[str] = ()) -> Iterator[Path]:
    """No link is followed, also not `top` itself; nothing below the folders `leave_out`."""
    if not top.is_symlink():
        for folder, names, files in os.walk(top):
            if folder in leave_out:
                names.clear()
            else:
                yield from (Path(folder, name) for name in (*names, *files))


def _fingerprint(path: Path) -> tuple[object, ...]:
    found = path.lstat()
    kind = stat.S_IFMT(found.st_mode)
    if stat.S_ISLNK(found.st_mode):
        return (kind, str(path.readlink()))
    with contextlib.suppress(OSError):
        if stat.S_ISREG(found.st_mode):
            digest = hashlib.sha256(path.read_bytes()).hexdigest()
            return (found.st_mode, digest, found.st_mtime_ns, found.st_nlink)
    return (found.st_mode,)


@contextlib.contextmanager
def services() -> Iterator[Services]:
    """Servers in threads, a shared memory segment, a key, files in /tmp and /dev/shm."""
    number = os.getpid()
    with contextlib.ExitStack() as stack:
        tcp = socket.create_server(("127.0.0.1", 0))
        wide = socket.create_server(("127.1.2.3", tcp.getsockname()[1]))
        abstract = socket.socket(socket.AF_UNIX)
        abstract.bind(f"\0headway-test-{number}")
        abstract.listen()
        udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        udp.bind(("127.0.0.1", 0))
        for server in (tcp, wide, abstract):
            serve(stack, server)
        stack.enter_context(udp)
        _in_thread(lambda: _echo(udp))
        shm = stack.enter_context(_shared_memory())
        _add_key()
        for folder in ("/tmp", "/dev/shm"):
            path = Path(folder, f"headway-test-{number}")
            path.write_text(TOKEN)
            stack.callback(path.unlink)
        yield Services(tcp.getsockname()[1], udp.getsockname()[1], shm, number)


def serve(stack: contextlib.ExitStack, server: socket.socket) -> None:
    """Tell the token to whoever connects to the listening `server`."""
    stack.callback(server.close)
    stack.callback(lambda: _quietly(lambda: server.shutdown(socket.SHUT_RDWR)))
    _in_thread(lambda: _tell(server))


def _tell(server: socket.socket) -> None:
    while True:
        connection, _ = server.accept()
        with connection, contextlib.suppress(OSError):
            connection.sendall(TOKEN.encode())


def _echo(udp: socket.socket) -> None:
    while True:
        _, sender = udp.recvfrom(99)
        udp.sendto(TOKEN.encode(), sender)


def _in_thread(work: Callable[[], None]) -> None:
    threading.Thread(target=lambda: _quietly(work), daemon=True).start()


def _quietly(work: Callable[[], object]) -> None:
    with contextlib.suppress(OSError):
        work()


@contextlib.contextmanager
def _shared_memory() -> Iterator[int]:
    libc = ctypes.CDLL(None)
    libc.shmat.restype = ctypes.c_void_p
    key = 0x48570000 | (os.getpid() & 0xFFFF)
    segment = libc.shmget(key, 4096, _IPC_CREAT | 0o600)
    ctypes.memmove(libc.shmat(segment, None, 0), TOKEN.encode() + b"\0", len(TOKEN) + 1)
    try:
        yield key
    finally:
        libc.shmctl(segment, _IPC_RMID, None)


def _add_key() -> None:
    """Into a session keyring of this process, which children share."""
    add_key, keyctl = (248, 250) if platform.machine() == "x86_64" else (217, 219)
    call = ctypes.CDLL(None).syscall
    call(keyctl, 1, None)
    call(add_key, b"user", b"headway-test", TOKEN.encode(), len(TOKEN), _SESSION_KEYRING)
