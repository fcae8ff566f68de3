"""Changing a folder by directory handles: nothing outside of it can be touched.

Each path is opened component by component without following links; a folder that its owner may
not enter or write is opened up on the way and noted, so that its mode can be set at the end.
"""

import contextlib
import os
import secrets
import shutil
import stat
from collections.abc import Callable, Iterable
from pathlib import Path

from headway_tools.snapshots.entries import Xattrs, join
from headway_tools.snapshots.rules import RESTORING, is_cache

_PATH_FLAGS = os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_NEW_FLAGS = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


class TreeWriter:
    """The folder `root`, whose handle stays open until `close`."""

    def __init__(self, root: int) -> None:
        self._names: list[bytes] = []
        self._handles = [os.open(b".", _PATH_FLAGS, dir_fd=root)]
        self.opened_up: set[bytes] = set()
        self._open_up(self._handles[0], b"")

    def close(self) -> None:
        while self._handles:
            os.close(self._handles.pop())

    def folder(self, path: bytes) -> int:
        """A handle (O_PATH) of the folder at `path`, valid until the next call."""
        names = path.split(b"/") if path else []
        same = 0
        while same < min(len(names), len(self._names)) and names[same] == self._names[same]:
            same += 1
        while len(self._names) > same:
            self._names.pop()
            os.close(self._handles.pop())
        for name in names[same:]:
            handle = os.open(name, _PATH_FLAGS, dir_fd=self._handles[-1])
            self._handles.append(handle)
            self._names.append(name)
            self._open_up(handle, b"/".join(self._names))
        return self._handles[-1]

    def _open_up(self, handle: int, path: bytes) -> None:
        status = os.fstat(handle)
        mode = stat.S_IMODE(status.st_mode)
        if mode & 0o700 != 0o700 and status.st_uid == os.geteuid():
            _self(handle).chmod(mode | 0o700)
            self.opened_up.add(path)

    def parent(self, path: bytes) -> tuple[int, bytes]:
        folder, _, name = path.rpartition(b"/")
        return self.folder(folder), name

    def make_folder(self, path: bytes) -> None:
        """A folder at `path`, mode 0700 where it is new; anything else there goes first."""
        handle, name = self.parent(path)
        try:
            os.mkdir(name, 0o700, dir_fd=handle)
        except FileExistsError:
            if stat.S_ISDIR(os.stat(name, dir_fd=handle, follow_symlinks=False).st_mode):
                return
            os.unlink(name, dir_fd=handle)
            os.mkdir(name, 0o700, dir_fd=handle)
        _give(handle, name)

    def write(
        self, path: bytes, parts: Iterable[bytes], mode: int, xattrs: Xattrs, mtime_ns: int | None
    ) -> None:
        """Put a file at `path` by one rename: it is the old one or the new one, never half."""

        def create(handle: int, name: bytes) -> None:
            file = os.open(name, _NEW_FLAGS, 0o600, dir_fd=handle)
            try:
                for data in parts:
                    _write_all(file, data)
                _give_handle(handle, file)
                set_xattrs(file, xattrs)
                os.fchmod(file, mode)
                if mtime_ns is not None:
                    os.utime(file, ns=(mtime_ns, mtime_ns))
            finally:
                os.close(file)

        self._replace(path, create)

    def symlink(self, path: bytes, target: bytes) -> None:
        def create(handle: int, name: bytes) -> None:
            os.symlink(target, name, dir_fd=handle)
            _give(handle, name)

        self._replace(path, create)

    def fifo(self, path: bytes, mode: int) -> None:
        def create(handle: int, name: bytes) -> None:
            os.mkfifo(name, 0o600, dir_fd=handle)
            _give(handle, name)
            os.chmod(name, mode, dir_fd=handle)

        self._replace(path, create)

    def hard_link(self, path: bytes, first: bytes) -> None:
        """Make `path` another name of the file `first`, which it is not yet."""
        parent, old = self.parent(first)
        source = os.dup(parent)
        try:

            def create(handle: int, name: bytes) -> None:
                os.link(old, name, src_dir_fd=source, dst_dir_fd=handle, follow_symlinks=False)

            self._replace(path, create)
        finally:
            os.close(source)

    def _replace(self, path: bytes, create: Callable[[int, bytes], None]) -> None:
        handle, name = self.parent(path)
        temporary = RESTORING + secrets.token_hex(6).encode()
        try:
            create(handle, temporary)
            os.rename(temporary, name, src_dir_fd=handle, dst_dir_fd=handle)
        except BaseException:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(temporary, dir_fd=handle)
            raise

    def delete_file(self, path: bytes) -> None:
        handle, name = self.parent(path)
        with contextlib.suppress(FileNotFoundError):
            os.unlink(name, dir_fd=handle)

    def delete_folder(self, path: bytes) -> bool:
        """Remove a folder that holds nothing but caches; False if it holds more."""
        for below in self._names_in(path):
            if is_cache(join(path, below)):
                shutil.rmtree(below, dir_fd=self.folder(path))
        handle, name = self.parent(path)
        try:
            os.rmdir(name, dir_fd=handle)
        except FileNotFoundError:
            return True
        except OSError:
            return False
        return True

    def delete_bytecode(self, path: bytes) -> None:
        """Forget what Python compiled from an earlier content of `path`.

        Bytecode is valid for a size and a second: after a quick change and restore it would run
        in place of the restored source.
        """
        folder, _, name = path.rpartition(b"/")
        if not name.endswith(b".py"):
            return
        cache = join(folder, b"__pycache__")
        with contextlib.suppress(OSError):
            for compiled in self._names_in(cache):
                if compiled.startswith(name[:-2]) and compiled.endswith(b".pyc"):
                    os.unlink(compiled, dir_fd=self.folder(cache))

    def _names_in(self, path: bytes) -> set[bytes]:
        try:
            handle = os.open(b".", os.O_RDONLY | os.O_DIRECTORY, dir_fd=self.folder(path))
        except FileNotFoundError:
            return set()
        try:
            with os.scandir(handle) as items:
                return {os.fsencode(item.name) for item in items}
        finally:
            os.close(handle)

    def set_attributes(self, path: bytes, mode: int, xattrs: Xattrs) -> None:
        """Permissions and `user.` attributes of a file or folder; never through a link."""
        handle, name = self.parent(path)
        flags = os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC
        file = os.open(name or b".", flags, dir_fd=handle)
        try:
            if not stat.S_ISLNK(os.fstat(file).st_mode):
                set_xattrs(_self(file), xattrs)
                _self(file).chmod(mode)
        finally:
            os.close(file)

    def set_time(self, path: bytes, mtime_ns: int) -> None:
        handle, name = self.parent(path)
        os.utime(name, ns=(mtime_ns, mtime_ns), dir_fd=handle, follow_symlinks=False)


def set_xattrs(file: int | Path, wanted: Xattrs) -> None:
    """Make the `user.` attributes exactly these; nothing where the file system has none."""
    try:
        present = {n: os.getxattr(file, n) for n in os.listxattr(file) if n.startswith("user.")}
    except OSError:
        return
    target = {os.fsdecode(name): value for name, value in wanted}
    with contextlib.suppress(OSError):
        for name in present.keys() - target.keys():
            os.removexattr(file, name)
        for name, value in target.items():
            if present.get(name) != value:
                os.setxattr(file, name, value)


def _self(handle: int) -> Path:
    """A handle opened with O_PATH as a path, for calls that need more than that."""
    return Path(f"/proc/self/fd/{handle}")


def _give(parent: int, name: bytes) -> None:
    """Started as root, what is made belongs to the owner of the folder it lies in."""
    owner = os.fstat(parent)
    if os.geteuid() == 0 and owner.st_uid != 0:
        os.chown(name, owner.st_uid, owner.st_gid, dir_fd=parent, follow_symlinks=False)


def _give_handle(parent: int, file: int) -> None:
    owner = os.fstat(parent)
    if os.geteuid() == 0 and owner.st_uid != 0:
        os.fchown(file, owner.st_uid, owner.st_gid)


def _write_all(file: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(file, view) :]
