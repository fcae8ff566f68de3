"""The record of a lease as a small file, which the kernel locks for one reader at a time."""

import contextlib
import fcntl
import json
import os
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

from headway_tools.errors import HeadwayError
from headway_tools.home import make_private
from headway_tools.leases import Sign


@dataclass(frozen=True)
class LeaseFile:
    """`headway_tools.leases.Record` in a file, mode 0600."""

    path: Path

    @property
    def key(self) -> str:
        return str(self.path)

    @contextlib.contextmanager
    def locked(self) -> Iterator[tuple[Sign | None, Callable[[Sign], None]]]:
        """`HeadwayError`: the file cannot be opened."""
        handle = _opened(self.path)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX)
            yield _read(handle), lambda sign: _write(handle, sign)
        finally:
            os.close(handle)


def _opened(path: Path) -> int:
    flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC
    try:
        try:
            return os.open(path, flags, 0o600)
        except FileNotFoundError:
            make_private(path.parent)
            return os.open(path, flags, 0o600)
    except OSError as error:
        raise HeadwayError(
            f"cannot open {path}: {error.strerror}; check headway's data folder"
        ) from error


def _read(handle: int) -> Sign | None:
    """None also for half a record: its writer was killed, and lost the lease by that."""
    try:
        return Sign(**json.loads(os.pread(handle, 4096, 0)))
    except (ValueError, TypeError):
        return None


def _write(handle: int, sign: Sign) -> None:
    line = json.dumps(asdict(sign)).encode()
    os.pwrite(handle, line.ljust(512), 0)
