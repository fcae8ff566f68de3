"""Rows of a `PostgresSaver`: imported only where one is in use."""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, LiteralString

from langgraph.checkpoint.postgres import PostgresSaver
from psycopg.types.json import Jsonb

from headway_debugger.rows import (
    NO_TASK,
    Row,
    Write,
    corrupted,
    join_rows,
    kept_namespaces,
    without_counters,
)

_TABLES: dict[LiteralString, LiteralString] = {
    "checkpoints": "checkpoint_ns, checkpoint_id, parent_checkpoint_id, type, checkpoint, metadata",
    "checkpoint_blobs": "checkpoint_ns, channel, version, type, blob",
    "checkpoint_writes": (
        "checkpoint_ns, checkpoint_id, task_id, task_path, idx, channel, type, blob"
    ),
}
_UNUSED_BLOBS = """
DELETE FROM checkpoint_blobs b WHERE b.thread_id = %s AND NOT EXISTS (
    SELECT 1 FROM checkpoints c, jsonb_each_text(c.checkpoint -> 'channel_versions') v
    WHERE c.thread_id = b.thread_id AND c.checkpoint_ns = b.checkpoint_ns
      AND v.key = b.channel AND v.value = b.version)
"""
_SEED = """
INSERT INTO checkpoint_blobs (thread_id, checkpoint_ns, channel, version, type, blob)
SELECT thread_id, '', %s, checkpoint -> 'channel_versions' ->> %s, %s, %s FROM checkpoints
WHERE thread_id = %s AND checkpoint_ns = '' AND checkpoint_id = %s
ON CONFLICT (thread_id, checkpoint_ns, channel, version)
DO UPDATE SET type = EXCLUDED.type, blob = EXCLUDED.blob
"""
_METADATA = """
SELECT metadata FROM checkpoints
WHERE thread_id = %s AND checkpoint_ns = '' AND checkpoint_id = %s
"""
_MARK_SEEDED = """
UPDATE checkpoints SET metadata = %s, checkpoint = jsonb_set(
    checkpoint, '{channel_values}', COALESCE(checkpoint -> 'channel_values', '{}') || %s)
WHERE thread_id = %s AND checkpoint_ns = '' AND checkpoint_id = %s
"""


def rows_of_postgres(saver: object) -> "PostgresRows | None":
    """The reader for `saver`, if it is a blocking `PostgresSaver`."""
    return PostgresRows(saver) if isinstance(saver, PostgresSaver) else None


@dataclass(frozen=True)
class PostgresRows:
    """Rows over the saver's own connection or pool."""

    saver: PostgresSaver

    def rows(self, thread_id: str) -> list[Row]:
        with self.saver._cursor() as cursor:
            checkpoints = cursor.execute(
                "SELECT checkpoint_id, parent_checkpoint_id, metadata FROM checkpoints "
                "WHERE thread_id = %s AND checkpoint_ns = '' ORDER BY checkpoint_id",
                (thread_id,),
            ).fetchall()
            writes = cursor.execute(
                "SELECT checkpoint_id, task_path, task_id, idx, channel FROM checkpoint_writes "
                "WHERE thread_id = %s AND checkpoint_ns = ''",
                (thread_id,),
            ).fetchall()
        by_id: dict[str, list[Write]] = defaultdict(list)
        for row in writes:
            by_id[row["checkpoint_id"]].append(
                Write(row["task_path"], row["task_id"], row["idx"], row["channel"])
            )
        plain = [
            (r["checkpoint_id"], r["parent_checkpoint_id"], r["metadata"]) for r in checkpoints
        ]
        return join_rows(plain, by_id, partial(self.writes, thread_id))

    def writes(self, thread_id: str, ids: Iterable[str], channel: str) -> dict[str, list[Any]]:
        with self.saver._cursor() as cursor:
            stored = cursor.execute(
                "SELECT checkpoint_id, type, blob FROM checkpoint_writes WHERE thread_id = %s "
                "AND checkpoint_ns = '' AND channel = %s AND checkpoint_id = ANY(%s) "
                "AND task_id <> %s "
                "ORDER BY checkpoint_id, task_path, task_id, idx",
                (thread_id, channel, list(ids), NO_TASK),
            ).fetchall()
        found: dict[str, list[Any]] = defaultdict(list)
        for row in stored:
            try:
                value = self.saver.serde.loads_typed((row["type"], row["blob"]))
            except Exception as error:  # whatever a decoder makes of damaged bytes
                raise corrupted(thread_id, row["checkpoint_id"], error) from error
            found[row["checkpoint_id"]].append(value)
        return dict(found)

    def copy(self, thread_id: str, target: str) -> None:
        with self.saver._cursor() as cursor, cursor.connection.transaction():
            for table, columns in _TABLES.items():
                cursor.execute(
                    f"INSERT INTO {table} (thread_id, {columns}) "
                    f"SELECT %s, {columns} FROM {table} WHERE thread_id = %s",
                    (target, thread_id),
                )

    def prune(
        self, thread_id: str, keep: frozenset[str], seeds: Mapping[str, Mapping[str, Any]]
    ) -> None:
        with self.saver._cursor() as cursor, cursor.connection.transaction():
            for checkpoint_id, values in seeds.items():
                self._seed(cursor, thread_id, checkpoint_id, values)
            stored = cursor.execute(
                "SELECT checkpoint_ns, checkpoint_id, metadata FROM checkpoints "
                "WHERE thread_id = %s",
                (thread_id,),
            ).fetchall()
            subgraphs = [(r["checkpoint_ns"], r["metadata"]) for r in stored if r["checkpoint_ns"]]
            namespaces = kept_namespaces(subgraphs, keep)
            gone = [
                (thread_id, r["checkpoint_ns"], r["checkpoint_id"])
                for r in stored
                if r["checkpoint_ns"] not in namespaces
                and (r["checkpoint_ns"] or r["checkpoint_id"] not in keep)
            ]
            for table in ("checkpoints", "checkpoint_writes"):
                cursor.executemany(
                    f"DELETE FROM {table} WHERE thread_id = %s AND checkpoint_ns = %s "
                    "AND checkpoint_id = %s",
                    gone,
                )
            cursor.execute(_UNUSED_BLOBS, (thread_id,))

    def _seed(
        self, cursor: Any, thread_id: str, checkpoint_id: str, values: Mapping[str, Any]
    ) -> None:
        for channel, value in values.items():
            stored = self.saver.serde.dumps_typed(value)
            cursor.execute(_SEED, (channel, channel, *stored, thread_id, checkpoint_id))
        row = cursor.execute(_METADATA, (thread_id, checkpoint_id)).fetchone()
        cursor.execute(
            _MARK_SEEDED,
            (
                Jsonb(without_counters(row["metadata"], values)),
                Jsonb(dict.fromkeys(values, True)),  # the saver's own mark of a full copy
                thread_id,
                checkpoint_id,
            ),
        )
