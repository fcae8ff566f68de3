"""Who works on a branch now, in a record that workers share.

A lease is signed again and again while its holder works. Nobody compares clocks: a waiting worker
watches whether the signs go on, and takes a lease whose holder is silent. A holder that was only
asleep finds on waking that it lost the lease, and writes nothing more (fencing).
"""

import contextlib
import os
import socket
import threading
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Final, Protocol

from headway_tools.errors import HeadwayError

SIGN_SECONDS: Final = 2.0
"""Time between two signs of a holder that works."""

WORKING: Final = 10.0
"""Silence, in seconds, after which a holder that works counts as dead."""

BETWEEN: Final = 1.0
"""The same for a holder between two steps, which signs nothing."""

WAIT_SECONDS: Final = 2.0
"""How long a worker waits for a holder that is alive before it is refused."""

PAUSE: Final = 0.1
"""Seconds between two looks at a lease that another one holds."""


class Overtaken(HeadwayError):
    """Another worker has gone on with this branch: nothing more may be written."""


@dataclass(frozen=True)
class Sign:
    """The content of a lease's record."""

    holder: str
    count: int
    """Grows with every sign."""
    patience: float
    """Seconds of silence after which the lease is free; 0: it is free now."""
    pid: int
    start: str
    """When the process began, in its system's own form: a pid is used again."""
    place: str
    """Where `pid` means something."""


class Record(Protocol):
    """Where the sign of one lease is kept for all workers."""

    @property
    def key(self) -> str:
        """The same for the same branch of the same thread."""
        ...

    def locked(self) -> AbstractContextManager[tuple[Sign | None, Callable[[Sign], None]]]:
        """The sign, None before the first, and the way to replace it, alone for the block."""
        ...


@dataclass
class Attempt:
    """One run by one process, which may hold leases of several branches."""

    id: str = field(default_factory=lambda: uuid.uuid4().hex)
    held: set[str] = field(default_factory=set)
    """Keys of leases that it held once: it may not take them back from another."""


@dataclass
class Lease:
    """The lease of one branch, as `attempt` sees it."""

    record: Record
    attempt: Attempt
    _seen: tuple[str, int] = ("", 0)
    _since: float = 0.0
    _first: float = 0.0

    def try_take(self) -> bool:
        """Take the lease if it is free or its holder is silent; call it again after `PAUSE`.

        Raises:
            Overtaken: this attempt held the lease before, and another one has taken it.
            HeadwayError: the holder is at work.
        """
        now = time.monotonic()
        with self.record.locked() as (known, write):
            if not self._may_take(known, now):
                return False
            write(_sign(self.attempt.id, known, WORKING))
        self.attempt.held.add(self.record.key)
        return True

    def _may_take(self, known: Sign | None, now: float) -> bool:
        if known is None or known.holder == self.attempt.id:
            return True
        if self.record.key in self.attempt.held:
            raise self._overtaken()
        if known.patience == 0 or _is_dead(known):
            return True
        if (known.holder, known.count) != self._seen:
            self._first = self._first or now
            self._seen, self._since = (known.holder, known.count), now
        if now - self._since >= known.patience:
            return True
        if self._since > self._first and now - self._first >= WAIT_SECONDS:
            raise HeadwayError(
                f"this thread is busy: process {known.pid} works on it; wait for it, stop it, "
                "or fork"
            )
        return False

    def take(self) -> None:
        """Wait for the lease; see `try_take`."""
        while not self.try_take():
            time.sleep(PAUSE)

    def check(self) -> None:
        """Raise `Overtaken` unless this attempt still holds the lease."""
        with self.record.locked() as (known, _):
            if known is None or known.holder != self.attempt.id:
                raise self._overtaken()

    def sign(self, patience: float) -> bool:
        """Say how long its silence may be from now; False where it is no longer the holder."""
        with self.record.locked() as (known, write):
            if known is None or known.holder != self.attempt.id:
                return False
            write(_sign(self.attempt.id, known, patience))
            return True

    def renew(self) -> None:
        """Sign while the step goes on; nothing once it has ended or the lease is lost."""
        with self.record.locked() as (known, write):
            if known and known.holder == self.attempt.id and known.patience == WORKING:
                write(_sign(self.attempt.id, known, WORKING))

    def free(self) -> None:
        """Give the lease back, if it is still held."""
        self.sign(0)

    def leave(self) -> None:
        """After a step: still the holder, else `Overtaken`."""
        if not self.sign(BETWEEN):
            raise self._overtaken()

    def _overtaken(self) -> Overtaken:
        return Overtaken(
            "another worker has gone on with this thread meanwhile; this one stopped and wrote "
            "nothing more"
        )


class Signer:
    """Signs leases in the background, by one thread that ends when it has nothing to do."""

    def __init__(self) -> None:
        self._leases: list[Lease] = []
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None

    @contextlib.contextmanager
    def signing(self, lease: Lease) -> Iterator[None]:
        """Sign `lease` again and again within the block."""
        with self._lock:
            self._leases.append(lease)
            if self._thread is None:
                self._thread = threading.Thread(
                    target=self._work, name="headway-leases", daemon=True
                )
                self._thread.start()
        try:
            yield
        finally:
            with self._lock:
                self._leases = [other for other in self._leases if other is not lease]

    def _work(self) -> None:
        while True:
            time.sleep(SIGN_SECONDS)
            with self._lock:
                leases = self._leases
                if not leases:
                    self._thread = None
                    return
            for lease in leases:
                with contextlib.suppress(HeadwayError):
                    lease.renew()


def _sign(holder: str, before: Sign | None, patience: float) -> Sign:
    count = before.count + 1 if before else 1
    pid = os.getpid()
    return Sign(holder, count, patience, pid, _own_start(pid), _place())


@lru_cache(maxsize=1)
def _own_start(pid: int) -> str:
    return _start(pid)


def _is_dead(sign: Sign) -> bool:
    """Whether the holder's process is known to have ended."""
    return sign.place == _place() and sign.start != _start(sign.pid)


def _start(pid: int) -> str:
    """When the process began; "" where there is none or the system does not say."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return ""
    fields = stat.rpartition(")")[2].split()
    return "" if fields[0] == "Z" else fields[19]


@lru_cache(maxsize=1)
def _place() -> str:
    """This machine since its start, and this namespace of processes."""
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
        return f"{boot}/{Path('/proc/self/ns/pid').readlink()}"
    except OSError:
        return f"{socket.gethostname()}/{uuid.uuid4().hex}"
