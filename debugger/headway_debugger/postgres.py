"""Rows of a `PostgresSaver`: imported only where one is in use."""

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from langgraph.checkpoint.postgres import PostgresSaver

from headway_debugger.rows import SENDS, Row, Write, corrupted, make_row, send_targets


def reader(saver: object) -> "PostgresRows | None":
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
        sending = {i for i, found in by_id.items() if any(w.channel == SENDS for w in found)}
        sends = self.writes(thread_id, sending, SENDS)
        return [
            make_row(
                row["checkpoint_id"],
                row["parent_checkpoint_id"],
                row["metadata"],
                by_id[row["checkpoint_id"]],
                send_targets(sends.get(row["checkpoint_id"])),
            )
            for row in checkpoints
        ]

    def writes(self, thread_id: str, ids: Iterable[str], channel: str) -> dict[str, list[Any]]:
        with self.saver._cursor() as cursor:
            stored = cursor.execute(
                "SELECT checkpoint_id, type, blob FROM checkpoint_writes WHERE thread_id = %s "
                "AND checkpoint_ns = '' AND channel = %s AND checkpoint_id = ANY(%s) "
                "ORDER BY checkpoint_id, task_path, task_id, idx",
                (thread_id, channel, list(ids)),
            ).fetchall()
        found: dict[str, list[Any]] = defaultdict(list)
        for row in stored:
            try:
                value = self.saver.serde.loads_typed((row["type"], row["blob"]))
            except Exception as error:  # whatever a decoder makes of damaged bytes
                raise corrupted(thread_id, row["checkpoint_id"], error) from error
            found[row["checkpoint_id"]].append(value)
        return dict(found)
