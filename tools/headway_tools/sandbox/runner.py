"""One process watched to its end: output, reports, time, cancel; one `poll`, no threads.

The end is the process's own (a pidfd), not the end of its output: a background child that
holds the pipe delays nothing.
"""

import os
import select
import time
from collections.abc import Callable
from typing import Final

_CHUNK: Final = 1 << 16
_MILLISECONDS: Final = 1000


class Pump:
    """`poll` over descriptors, each with what to do with the bytes that it gives."""

    def __init__(self) -> None:
        self._poll = select.poll()
        self._readers: dict[int, Callable[[bytes], object]] = {}
        self._signals: dict[int, Callable[[], object]] = {}
        self._stopped = False

    def read(self, fd: int, reader: Callable[[bytes], object]) -> None:
        """Give what arrives at the pipe `fd` to `reader`, until its end."""
        os.set_blocking(fd, False)
        self._readers[fd] = reader
        self._poll.register(fd, select.POLLIN)

    def watch(self, fd: int, action: Callable[[], object]) -> None:
        """Do `action` once when `fd` becomes readable (a pidfd, an eventfd)."""
        self._signals[fd] = action
        self._poll.register(fd, select.POLLIN)

    def stop(self) -> None:
        """Let `run` return."""
        self._stopped = True

    def run(self, deadline: float) -> bool:
        """Until `stop`, or until `deadline` (monotonic seconds): then False."""
        while not self._stopped:
            left = deadline - time.monotonic()
            if left <= 0:
                return False
            for fd, _ in self._poll.poll(left * _MILLISECONDS):
                self._ready(fd)
        return True

    def drain(self, most: int) -> None:
        """Take what is in the pipes already, `most` bytes of each."""
        for fd in list(self._readers):
            taken = 0
            while taken < most and (size := self._take(fd)):
                taken += size

    def _ready(self, fd: int) -> None:
        if fd in self._signals:
            self._poll.unregister(fd)
            self._signals.pop(fd)()
        elif fd in self._readers:
            self._take(fd)

    def _take(self, fd: int) -> int:
        try:
            data = os.read(fd, _CHUNK)
        except BlockingIOError:
            return 0
        if data:
            self._readers[fd](data)
        else:
            self._poll.unregister(fd)
            del self._readers[fd]
        return len(data)


class Descriptors:
    """Descriptors of one run, closed together at the latest."""

    def __init__(self) -> None:
        self._open: set[int] = set()

    def __enter__(self) -> "Descriptors":
        return self

    def __exit__(self, *_: object) -> None:
        for fd in list(self._open):
            self.close(fd)

    def own(self, fd: int) -> int:
        """Close `fd` at the end."""
        self._open.add(fd)
        return fd

    def close(self, fd: int) -> None:
        """Close `fd` now."""
        self._open.discard(fd)
        os.close(fd)

    def pipe(self) -> tuple[int, int]:
        """A new pipe: the end to read, the end to write."""
        read, write = os.pipe()
        return self.own(read), self.own(write)

    def data(self, name: str, content: bytes) -> int:
        """A file in memory with `content`, at its start."""
        fd = self.own(os.memfd_create(name))
        view = memoryview(content)
        while view:
            view = view[os.write(fd, view) :]
        os.lseek(fd, 0, os.SEEK_SET)
        return fd


def wait_readable(fd: int, seconds: float) -> bool:
    """Whether `fd` (a pidfd: its process is gone) becomes readable in time."""
    poll = select.poll()
    poll.register(fd, select.POLLIN)
    return bool(poll.poll(seconds * _MILLISECONDS))
