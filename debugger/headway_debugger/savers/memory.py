"""Rows of an `InMemorySaver`."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from langgraph.checkpoint.memory import InMemorySaver

from headway_debugger.rows import (
    NO_TASK,
    Row,
    Write,
    join_rows,
    kept_namespaces,
    without_counters,
)


@dataclass(frozen=True)
class MemoryRows:
    """Rows of an `InMemorySaver`."""

    saver: InMemorySaver

    def rows(self, thread_id: str) -> list[Row]:
        stored = self.saver.storage.get(thread_id, {}).get("", {})
        checkpoints = [
            (i, parent, self.saver.serde.loads_typed(metadata))
            for i, (_, metadata, parent) in sorted(stored.items())
        ]
        writes = {i: self._writes(thread_id, i) for i in stored}
        return join_rows(checkpoints, writes, partial(self.writes, thread_id))

    def writes(self, thread_id: str, ids: Iterable[str], channel: str) -> dict[str, list[Any]]:
        return {i: self._values(thread_id, i, channel) for i in ids}

    def _writes(self, thread_id: str, checkpoint_id: str) -> list[Write]:
        stored = self.saver.writes.get((thread_id, "", checkpoint_id), {})
        return [
            Write(path, task, index, channel, value)
            for (_, index), (task, channel, value, path) in stored.items()
        ]

    def _values(self, thread_id: str, checkpoint_id: str, channel: str) -> list[Any]:
        stored = self._writes(thread_id, checkpoint_id)
        found = [w for w in stored if w.channel == channel and w.task != NO_TASK]
        return [self.saver.serde.loads_typed(w.value) for w in sorted(found, key=lambda w: w.order)]

    def copy(self, thread_id: str, target: str) -> None:
        for ns, checkpoints in self.saver.storage.get(thread_id, {}).items():
            self.saver.storage[target][ns].update(checkpoints)
        for (thread, ns, checkpoint_id), writes in list(self.saver.writes.items()):
            if thread == thread_id:
                stored = self.saver.writes[target, ns, checkpoint_id]
                stored.update(writes)
        for (thread, ns, channel, version), blob in list(self.saver.blobs.items()):
            if thread == thread_id:
                self.saver.blobs[target, ns, channel, version] = blob

    def prune(
        self, thread_id: str, keep: frozenset[str], seeds: Mapping[str, Mapping[str, Any]]
    ) -> None:
        for checkpoint_id, values in seeds.items():
            self._seed(thread_id, checkpoint_id, values)
        stored = self.saver.storage[thread_id]
        loads = self.saver.serde.loads_typed
        roots = [(ns, loads(m)) for ns in stored if ns for _, m, _ in stored[ns].values()]
        namespaces = kept_namespaces(roots, keep)
        for ns in list(stored):
            for checkpoint_id in list(stored[ns]):
                if ns not in namespaces and (ns or checkpoint_id not in keep):
                    del stored[ns][checkpoint_id]
                    self.saver.writes.pop((thread_id, ns, checkpoint_id), None)
        self._drop_blobs(thread_id)

    def _seed(self, thread_id: str, checkpoint_id: str, values: Mapping[str, Any]) -> None:
        serde = self.saver.serde
        checkpoint, metadata, parent = self.saver.storage[thread_id][""][checkpoint_id]
        versions = serde.loads_typed(checkpoint)["channel_versions"]
        for channel, value in values.items():
            self.saver.blobs[thread_id, "", channel, versions[channel]] = serde.dumps_typed(value)
        counted = serde.dumps_typed(without_counters(serde.loads_typed(metadata), values))
        self.saver.storage[thread_id][""][checkpoint_id] = (checkpoint, counted, parent)

    def _drop_blobs(self, thread_id: str) -> None:
        used = {
            (ns, channel, version)
            for ns, checkpoints in self.saver.storage[thread_id].items()
            for checkpoint, _, _ in checkpoints.values()
            for channel, version in self.saver.serde.loads_typed(checkpoint)[
                "channel_versions"
            ].items()
        }
        for thread, ns, channel, version in list(self.saver.blobs):
            if thread == thread_id and (ns, channel, version) not in used:
                del self.saver.blobs[thread, ns, channel, version]
