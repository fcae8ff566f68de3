"""The journal as one SQLite database, in a file or in memory, bounded in count and bytes.

Contents are addressed by their hash, so equal results are stored once. The oldest contents expire;
their rows stay and say so, and the newest calls' contents never do.
"""

import contextlib
import hashlib
import json
import os
import sqlite3
import threading
import weakref
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final, Literal, cast

from headway_tools.errors import HeadwayError, ToolFailure
from headway_tools.journal.contract import CallStatus, Content, Entry, Ref
from headway_tools.values import line_count, plain

MAX_ENTRIES: Final = 2_000
"""Contents kept per thread."""

MAX_BYTES: Final = 256 * 1024 * 1024
"""Bytes of contents kept per thread."""

KEPT_CALLS: Final = 64
"""The newest calls, whose contents never expire: a whole batch must survive until it is shown."""

MAX_ROWS: Final = 50_000
"""Calls remembered per thread, with or without their content."""

BUSY_SECONDS: Final = 60.0
"""How long a write waits for another process that holds the file."""

_SCHEMA: Final = """
CREATE TABLE IF NOT EXISTS calls (
    id INTEGER PRIMARY KEY AUTOINCREMENT, key TEXT UNIQUE NOT NULL, state TEXT NOT NULL,
    call TEXT NOT NULL, name TEXT NOT NULL, before TEXT, ref TEXT);
CREATE TABLE IF NOT EXISTS outputs (
    output TEXT PRIMARY KEY, sha TEXT NOT NULL, kind TEXT NOT NULL, bytes INTEGER NOT NULL,
    used INTEGER NOT NULL, body BLOB);
CREATE INDEX IF NOT EXISTS kept ON outputs (used, bytes, output) WHERE body IS NOT NULL;
"""


class SqliteJournal:
    """A journal in one SQLite file, mode 0600, which processes may share.

    A killed process loses nothing it recorded; a machine that loses power may lose the last rows.
    """

    def __init__(
        self, path: Path | str, *, max_entries: int = MAX_ENTRIES, max_bytes: int = MAX_BYTES
    ) -> None:
        self._path = str(path)
        self._max_entries, self._max_bytes = max_entries, max_bytes
        self._lock = threading.RLock()
        with self._reported():
            self._db = _open(self._path)
        weakref.finalize(self, self._db.close)

    def lookup(self, key: str) -> Entry | None:
        with self._reported():
            row = self._db.execute(
                "SELECT state, call, name, before, ref FROM calls WHERE key = ?", (key,)
            ).fetchone()
            return _entry(*row) if row else None

    def start(self, key: str, *, call: str, name: str, before: str | None) -> None:
        with self._reported():
            self._db.execute(
                "INSERT INTO calls (key, state, call, name, before) VALUES (?, 'started', ?, ?, ?)"
                " ON CONFLICT (key) DO NOTHING",
                (key, call, name, before),
            )

    def finish(
        self,
        key: str,
        *,
        call: str,
        name: str,
        status: CallStatus,
        content: Content,
        before: str | None = None,
        after: str | None = None,
        may_have_run: bool = False,
    ) -> Ref:
        body, kind = _encoded(content)
        sha = hashlib.sha256(body).hexdigest()
        text = content if isinstance(content, str) else body.decode("utf-8", "surrogatepass")
        with self._transaction():
            done = self.lookup(key)
            if done and done.ref:
                return done.ref
            ref = Ref(
                call=call,
                name=name,
                status=status,
                output=self._name_for(sha),
                kind=kind,
                size=len(text),
                lines=line_count(text),
                sha=sha[:16],
            )
            _add_optional(ref, before=before, after=after, may_have_run=may_have_run)
            used = self._put_call(key, ref, before)
            self._put_content(ref["output"], sha, kind, body, used)
            self._expire(used)
        return ref

    def forget(self, key: str) -> None:
        with self._reported():
            self._db.execute("DELETE FROM calls WHERE key = ?", (key,))

    def read(self, output: str) -> Content:
        with self._reported():
            row = self._db.execute(
                "SELECT sha, kind, body FROM outputs WHERE output = ?", (output,)
            ).fetchone()
        if row is None:
            raise ToolFailure(
                "unknown_output",
                f"this conversation has no output {output!r}",
                "use an id that a shortened result of this conversation names",
            )
        sha, kind, body = row
        if body is None:
            raise ToolFailure(
                "expired",
                f"output {output!r} is too old: its content is no longer kept",
                "make the call again if it is safe to repeat",
            )
        return _decoded(output, sha, kind, body)

    def close(self) -> None:
        with self._lock:
            self._db.close()

    def _name_for(self, sha: str) -> str:
        for digits in (8, 16, 64):
            name = f"o-{sha[:digits]}"
            row = self._db.execute("SELECT sha FROM outputs WHERE output = ?", (name,)).fetchone()
            if row is None or row[0] == sha:
                return name
        raise AssertionError("two contents with one SHA-256")

    def _put_call(self, key: str, ref: Ref, before: str | None) -> int:
        self._db.execute(
            "INSERT INTO calls (key, state, call, name, before, ref) VALUES (?, 'done', ?, ?, ?, ?)"
            " ON CONFLICT (key) DO UPDATE SET state = 'done', ref = excluded.ref",
            (key, ref["call"], ref["name"], before, json.dumps(ref)),
        )
        row = self._db.execute("SELECT id FROM calls WHERE key = ?", (key,)).fetchone()
        return int(row[0])

    def _put_content(self, output: str, sha: str, kind: str, body: bytes, used: int) -> None:
        self._db.execute(
            "INSERT INTO outputs (output, sha, kind, bytes, used, body) VALUES (?, ?, ?, ?, ?, ?)"
            " ON CONFLICT (output) DO UPDATE SET used = excluded.used, body = excluded.body",
            (output, sha, kind, len(body), used, body),
        )

    def _expire(self, newest: int) -> None:
        for output in self._too_many(newest - KEPT_CALLS):
            self._db.execute("UPDATE outputs SET body = NULL WHERE output = ?", (output,))
        self._db.execute("DELETE FROM calls WHERE id <= ?", (newest - MAX_ROWS,))
        self._db.execute(
            "DELETE FROM outputs WHERE body IS NULL AND used <= ?", (newest - MAX_ROWS,)
        )

    def _too_many(self, last: int) -> list[str]:
        """The oldest outputs beyond the bounds, none of them used after call `last`."""
        count, total = self._db.execute(
            "SELECT count(*), total(bytes) FROM outputs WHERE body IS NOT NULL"
        ).fetchone()
        oldest = self._db.execute(
            "SELECT output, bytes FROM outputs WHERE body IS NOT NULL AND used <= ? ORDER BY used",
            (last,),
        )
        found: list[str] = []
        while count > self._max_entries or total > self._max_bytes:
            row = oldest.fetchone()
            if row is None:
                break
            found.append(row[0])
            count, total = count - 1, total - row[1]
        oldest.close()
        return found

    @contextlib.contextmanager
    def _transaction(self) -> Iterator[None]:
        with self._reported():
            self._db.execute("BEGIN IMMEDIATE")
            try:
                yield
                self._db.execute("COMMIT")
            except BaseException:
                if self._db.in_transaction:  # on a full disk SQLite has ended it by itself
                    self._db.execute("ROLLBACK")
                raise

    @contextlib.contextmanager
    def _reported(self) -> Iterator[None]:
        """One thread at a time; database errors in one line."""
        with self._lock:
            try:
                yield
            except (sqlite3.Error, OSError, ValueError) as error:
                raise HeadwayError(
                    f"headway's journal {self._path} cannot be used: {error};"
                    " free disk space, or move the file away if it is damaged"
                ) from error


class MemoryJournal(SqliteJournal):
    """The same journal without a file; it ends with the object."""

    def __init__(self, *, max_entries: int = MAX_ENTRIES, max_bytes: int = MAX_BYTES) -> None:
        super().__init__(":memory:", max_entries=max_entries, max_bytes=max_bytes)


def _open(path: str) -> sqlite3.Connection:
    if path != ":memory:":
        os.close(os.open(path, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600))
    db = sqlite3.connect(path, BUSY_SECONDS, isolation_level=None, check_same_thread=False)
    try:
        db.execute("PRAGMA journal_mode = WAL")
        db.execute("PRAGMA synchronous = NORMAL")
        db.executescript(_SCHEMA)
    except sqlite3.Error:
        db.close()
        raise
    return db


def _entry(state: str, call: str, name: str, before: str | None, ref: str | None) -> Entry:
    known = cast(Ref, json.loads(ref)) if ref is not None else None
    return Entry("done" if state == "done" else "started", call, name, before, known)


def _add_optional(ref: Ref, *, before: str | None, after: str | None, may_have_run: bool) -> None:
    if before is not None:
        ref["before"] = before
    if after is not None:
        ref["after"] = after
    if may_have_run:
        ref["may_have_run"] = True


def _encoded(content: Content) -> tuple[bytes, Literal["text", "blocks"]]:
    if isinstance(content, str):
        return content.encode("utf-8", "surrogatepass"), "text"
    return json.dumps(plain(content), ensure_ascii=False).encode("utf-8"), "blocks"


def _decoded(output: str, sha: str, kind: str, body: bytes) -> Content:
    if hashlib.sha256(body).hexdigest() != sha:
        raise ToolFailure(
            "io_error",
            f"the stored content of {output!r} is damaged",
            "make the call again if it is safe to repeat",
        )
    text = body.decode("utf-8", "surrogatepass")
    return text if kind == "text" else cast(list[Any], json.loads(text))
