"""Rows of a `SqliteSaver`, over its own connection and lock."""

import json
import sqlite3
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from langgraph.checkpoint.sqlite import SqliteSaver

from headway_debugger.rows import (
    NO_TASK,
    Row,
    Write,
    corrupted,
    join_rows,
    kept_namespaces,
    parse_metadata,
    without_counters,
)

_TABLES = {
    "checkpoints": "checkpoint_ns, checkpoint_id, parent_checkpoint_id, type, checkpoint, metadata",
    "writes": "checkpoint_ns, checkpoint_id, task_id, task_path, idx, channel, type, value",
}


@dataclass(frozen=True)
class SqliteRows:
    """See the module."""

    saver: SqliteSaver

    def rows(self, thread_id: str) -> list[Row]:
        with self.saver.cursor(transaction=False) as cursor:
            checkpoints = cursor.execute(
                "SELECT checkpoint_id, parent_checkpoint_id, metadata FROM checkpoints "
                "WHERE thread_id = ? AND checkpoint_ns = '' ORDER BY checkpoint_id",
                (thread_id,),
            ).fetchall()
            writes = cursor.execute(
                "SELECT checkpoint_id, task_path, task_id, idx, channel FROM writes "
                "WHERE thread_id = ? AND checkpoint_ns = ''",
                (thread_id,),
            ).fetchall()
        by_id: dict[str, list[Write]] = defaultdict(list)
        for checkpoint_id, *columns in writes:
            by_id[checkpoint_id].append(Write(*columns))
        parsed = [(i, parent, parse_metadata(thread_id, i, raw)) for i, parent, raw in checkpoints]
        return join_rows(parsed, by_id, partial(self.writes, thread_id))

    def writes(self, thread_id: str, ids: Iterable[str], channel: str) -> dict[str, list[Any]]:
        query = (
            "SELECT task_path, task_id, idx, type, value FROM writes WHERE thread_id = ? "
            "AND checkpoint_ns = '' AND checkpoint_id = ? AND channel = ? AND task_id <> ?"
        )
        found: dict[str, list[Any]] = {}
        for checkpoint_id in ids:
            with self.saver.cursor(transaction=False) as cursor:
                stored = cursor.execute(
                    query, (thread_id, checkpoint_id, channel, NO_TASK)
                ).fetchall()
            ordered = sorted(stored, key=lambda columns: columns[:3])
            try:
                found[checkpoint_id] = [
                    self.saver.serde.loads_typed(columns[3:]) for columns in ordered
                ]
            except Exception as error:  # whatever a decoder makes of damaged bytes
                raise corrupted(thread_id, checkpoint_id, error) from error
        return found

    def copy(self, thread_id: str, target: str) -> None:
        with self.saver.cursor() as cursor:
            for table, columns in _TABLES.items():
                cursor.execute(
                    f"INSERT INTO {table} (thread_id, {columns}) "
                    f"SELECT ?, {columns} FROM {table} WHERE thread_id = ?",
                    (target, thread_id),
                )

    def prune(
        self, thread_id: str, keep: frozenset[str], seeds: Mapping[str, Mapping[str, Any]]
    ) -> None:
        with self.saver.cursor() as cursor:
            for checkpoint_id, values in seeds.items():
                self._seed(cursor, thread_id, checkpoint_id, values)
            stored = cursor.execute(
                "SELECT checkpoint_ns, checkpoint_id, metadata FROM checkpoints "
                "WHERE thread_id = ?",
                (thread_id,),
            ).fetchall()
            roots = [(ns, parse_metadata(thread_id, i, raw)) for ns, i, raw in stored if ns]
            namespaces = kept_namespaces(roots, keep)
            gone = [
                (thread_id, ns, i)
                for ns, i, _ in stored
                if ns not in namespaces and (ns or i not in keep)
            ]
            for table in _TABLES:
                cursor.executemany(
                    f"DELETE FROM {table} WHERE thread_id = ? AND checkpoint_ns = ? "
                    "AND checkpoint_id = ?",
                    gone,
                )

    def _seed(
        self,
        cursor: sqlite3.Cursor,
        thread_id: str,
        checkpoint_id: str,
        values: Mapping[str, Any],
    ) -> None:
        where = "WHERE thread_id = ? AND checkpoint_ns = '' AND checkpoint_id = ?"
        kind, blob, raw = cursor.execute(
            f"SELECT type, checkpoint, metadata FROM checkpoints {where}",
            (thread_id, checkpoint_id),
        ).fetchone()
        checkpoint = self.saver.serde.loads_typed((kind, blob))
        checkpoint["channel_values"] = {**checkpoint["channel_values"], **values}
        metadata = without_counters(parse_metadata(thread_id, checkpoint_id, raw), values)
        text = json.dumps(metadata, ensure_ascii=False).encode("utf-8", "ignore")
        cursor.execute(
            f"UPDATE checkpoints SET type = ?, checkpoint = ?, metadata = ? {where}",
            (*self.saver.serde.dumps_typed(checkpoint), text, thread_id, checkpoint_id),
        )
