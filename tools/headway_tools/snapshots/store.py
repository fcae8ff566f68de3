"""The objects of one thread in one SQLite file: content by hash, snapshots, the stat cache.

Content is split into parts of 1 MiB, each deflated where that helps. Every write of a snapshot
is one transaction or, for large ones, a few; the snapshot's row comes last. WAL, so that two
branches in two processes read and write side by side; mode 0600.
"""

import fcntl
import os
import sqlite3
import zlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from hashlib import blake2b
from pathlib import Path

from headway_tools.errors import HeadwayError
from headway_tools.home import make_private

PART = 1 << 20
SCHEMA_VERSION = 1
_BATCH = 32 << 20  # bytes written before a commit lets other processes write
_PROBE = 64 << 10  # bytes tried before a part is deflated
_RAW, _DEFLATED = b"\0", b"\1"

_SCHEMA = """
CREATE TABLE objects (id BLOB NOT NULL, part INTEGER NOT NULL, data BLOB NOT NULL,
                      PRIMARY KEY (id, part));
CREATE TABLE times (folder BLOB PRIMARY KEY, data BLOB NOT NULL) WITHOUT ROWID;
CREATE TABLE snapshots (id TEXT PRIMARY KEY, object BLOB NOT NULL, notes BLOB NOT NULL);
CREATE TABLE stats (root BLOB, folder BLOB, data BLOB NOT NULL,
                    PRIMARY KEY (root, folder)) WITHOUT ROWID;
CREATE TABLE collections (count INTEGER NOT NULL);
INSERT INTO collections VALUES (0);
"""


class Store:
    """One open store. Not thread-safe: `Snapshots` holds its lock around each use."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / "objects.sqlite"
        make_private(folder)
        self._pending = 0
        with self._errors():
            self._lock = os.open(folder / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
            try:
                with self.alone():
                    self._db = self._open()
            except BaseException:
                os.close(self._lock)
                raise

    def _open(self) -> sqlite3.Connection:
        os.close(os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600))
        db = sqlite3.connect(self.path, timeout=60, isolation_level=None, check_same_thread=False)
        try:
            version = db.execute("PRAGMA user_version").fetchone()[0]
            if version > SCHEMA_VERSION:
                raise HeadwayError(
                    f"{self.path} is of a newer headway (schema {version}): upgrade headway"
                )
            if version == 0:
                _create(db)
            db.execute("PRAGMA synchronous = FULL")
            db.execute(f"PRAGMA journal_size_limit = {_BATCH}")
        except BaseException:
            db.close()
            raise
        return db

    def close(self) -> None:
        self._db.close()
        os.close(self._lock)

    @contextmanager
    def shared(self) -> Iterator[None]:
        """Other processes read and write, none collects."""
        yield from self._locked(fcntl.LOCK_SH)

    @contextmanager
    def alone(self) -> Iterator[None]:
        """No other process uses this store."""
        yield from self._locked(fcntl.LOCK_EX)

    def _locked(self, how: int) -> Iterator[None]:
        fcntl.flock(self._lock, how)
        try:
            yield
        finally:
            fcntl.flock(self._lock, fcntl.LOCK_UN)

    @contextmanager
    def _errors(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.Error as error:
            raise _explained(error, self.path) from error
        except OSError as error:
            raise HeadwayError(
                f"cannot open the snapshots in {self.path}: {error.strerror}; check the data folder"
            ) from error

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """Commit what was put when the block ends, else nothing of the last batch."""
        with self._errors():
            try:
                yield
                self._commit()
            finally:
                if self._db.in_transaction:
                    self._db.execute("ROLLBACK")
                self._pending = 0

    def begin(self) -> None:
        """Take the right to write until the next commit; inside `transaction`."""
        if not self._db.in_transaction:
            self._db.execute("BEGIN IMMEDIATE")

    @property
    def writing(self) -> bool:
        return self._db.in_transaction

    def _commit(self) -> None:
        if self._db.in_transaction:
            self._db.execute("COMMIT")
        self._pending = 0

    def used_bytes(self) -> int:
        """Bytes of the pages in use, those of the running transaction included."""
        pages, free, size = (
            int(self._db.execute(f"PRAGMA {name}").fetchone()[0])
            for name in ("page_count", "freelist_count", "page_size")
        )
        return (pages - free) * size

    def has(self, key: bytes) -> bool:
        query = "SELECT 1 FROM objects WHERE id = ? AND part = 0"
        return self._db.execute(query, (key,)).fetchone() is not None

    def put(self, key: bytes, part: int, data: bytes) -> int:
        """Add one part of an object, inside `transaction`; returns the bytes it takes."""
        packed = _pack(data)
        self.begin()
        self._db.execute("INSERT OR REPLACE INTO objects VALUES (?, ?, ?)", (key, part, packed))
        self._pending += len(packed)
        return len(packed)

    def rename(self, key: bytes, actual: bytes) -> None:
        """Correct the id of an object that changed while it was read."""
        self._db.execute("UPDATE OR REPLACE objects SET id = ? WHERE id = ?", (actual, key))

    def breathe(self) -> None:
        """Commit a large batch; called between objects, never within one."""
        if self._pending > _BATCH:
            self._commit()

    def parts(self, key: bytes) -> Iterator[bytes]:
        """The object's parts in order, checked against its hash; `HeadwayError` if damaged."""
        hasher = blake2b(digest_size=20)
        query = "SELECT data FROM objects WHERE id = ? ORDER BY part"
        with self._errors():
            for (packed,) in self._db.execute(query, (key,)):
                data = self._unpack(packed, key)
                hasher.update(data)
                yield data
        if hasher.digest() != key:
            raise self._damaged(key)

    def get(self, key: bytes) -> bytes:
        return b"".join(self.parts(key))

    def _unpack(self, packed: bytes, key: bytes) -> bytes:
        try:
            return zlib.decompress(packed[1:]) if packed[:1] == _DEFLATED else packed[1:]
        except zlib.error as error:
            raise self._damaged(key) from error

    def _damaged(self, key: bytes) -> HeadwayError:
        return HeadwayError(
            f"object {key.hex()} in {self.path} is missing or damaged: "
            "the snapshots that need it cannot be restored; others can"
        )

    def put_times(self, folder: bytes, data: bytes) -> None:
        self.begin()
        self._db.execute("INSERT OR IGNORE INTO times VALUES (?, ?)", (folder, data))

    def times(self, folder: bytes) -> bytes:
        row = self._db.execute("SELECT data FROM times WHERE folder = ?", (folder,)).fetchone()
        return bytes(row[0]) if row else b""

    def put_snapshot(self, snapshot: str, key: bytes, notes: bytes) -> None:
        """Name a snapshot; for one that is known already the newer notes count."""
        row = self._db.execute("SELECT notes FROM snapshots WHERE id = ?", (snapshot,)).fetchone()
        if row is None or row[0] != notes:
            self.begin()
            query = "INSERT OR REPLACE INTO snapshots VALUES (?, ?, ?)"
            self._db.execute(query, (snapshot, key, notes))

    def holds(self, snapshot: str) -> bool:
        """Whether there is such a snapshot."""
        query = "SELECT 1 FROM snapshots WHERE id = ?"
        with self._errors():
            return self._db.execute(query, (snapshot,)).fetchone() is not None

    def snapshot(self, snapshot: str) -> tuple[bytes, bytes]:
        """The object's id and the encoded notes; `HeadwayError` where there is none."""
        query = "SELECT object, notes FROM snapshots WHERE id = ?"
        with self._errors():
            row = self._db.execute(query, (snapshot,)).fetchone()
        if row is None:
            raise HeadwayError(f"there is no snapshot {snapshot} in {self.path}")
        return row[0], row[1]

    def knows(self, snapshot: str) -> bool:
        query = "SELECT 1 FROM snapshots WHERE id = ?"
        return self._db.execute(query, (snapshot,)).fetchone() is not None

    def stats(self, root: bytes) -> Iterator[tuple[bytes, bytes]]:
        yield from self._db.execute("SELECT folder, data FROM stats WHERE root = ?", (root,))

    def put_stats(self, root: bytes, folder: bytes, data: bytes | None) -> None:
        """Remember one folder's stat cache; None forgets it."""
        self.begin()
        if data is None:
            query = "DELETE FROM stats WHERE root = ? AND folder = ?"
            self._db.execute(query, (root, folder))
        else:
            self._db.execute("INSERT OR REPLACE INTO stats VALUES (?, ?, ?)", (root, folder, data))

    def collections(self) -> int:
        """How often `collect` ran: caches older than the last one may name dropped objects."""
        with self._errors():
            return int(self._db.execute("SELECT count FROM collections").fetchone()[0])

    def collect(self, keep: Iterable[str], live: set[bytes]) -> int:
        """Drop snapshots not in `keep` and objects not in `live`; returns how many objects."""
        with self.transaction():
            self.begin()
            self._delete("snapshots", "id", set(keep).__contains__)
            self._delete("times", "folder", live.__contains__)
            dropped = self._delete("objects", "id", live.__contains__)
            self._db.execute("DELETE FROM stats")
            self._db.execute("UPDATE collections SET count = count + 1")
        with self._errors():
            self._db.executescript("PRAGMA incremental_vacuum")  # `execute` frees one page
            self._db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
        return dropped

    def _delete(self, table: str, column: str, wanted: Callable[[object], bool]) -> int:
        keys = self._db.execute(f"SELECT DISTINCT {column} FROM {table}").fetchall()
        gone = [key for key in keys if not wanted(key[0])]
        self._db.executemany(f"DELETE FROM {table} WHERE {column} = ?", gone)
        return len(gone)


def _create(db: sqlite3.Connection) -> None:
    db.execute("PRAGMA auto_vacuum = INCREMENTAL")
    db.execute("PRAGMA journal_mode = WAL")
    db.execute("BEGIN IMMEDIATE")
    for statement in _SCHEMA.split(";"):
        db.execute(statement)
    db.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")
    db.execute("COMMIT")


def _pack(data: bytes) -> bytes:
    probe = data[:_PROBE]
    if len(zlib.compress(probe, 1)) < len(probe) * 0.95:
        return _DEFLATED + zlib.compress(data, 1)
    return _RAW + data


def _explained(error: sqlite3.Error, path: Path) -> HeadwayError:
    text = str(error)
    if "full" in text:
        return HeadwayError(f"no space for snapshots in {path}: free space on that disk")
    if "malformed" in text or "not a database" in text:
        return HeadwayError(
            f"{path} is damaged ({text}): move it away to go on; its snapshots are lost"
        )
    if "locked" in text:
        return HeadwayError(f"{path} is busy: another process is writing snapshots; try again")
    return HeadwayError(f"cannot use the snapshots in {path}: {text}; check the data folder")
