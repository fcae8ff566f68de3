"""Removing, thinning out and copying threads.

A `DeltaChannel` stores no value, only writes since the last full copy. Dropping old checkpoints
alone would empty it without an error, so `prune` first stores a full copy where it cuts.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from langchain_core.runnables import RunnableConfig
from langgraph.channels.delta import DeltaChannel
from langgraph.checkpoint.base import BaseCheckpointSaver, CheckpointTuple
from langgraph.checkpoint.serde.types import _DeltaSnapshot

from headway.heads import Heads
from headway_debugger.backend import Backend, address
from headway_debugger.rows import Row
from headway_debugger.tree import ThreadTree
from headway_tools.errors import HeadwayError


@dataclass(frozen=True)
class Pruned:
    """What `prune` did."""

    removed: int
    kept: int


def delete(backend: Backend, thread_id: str) -> None:
    """Remove a thread's checkpoints, subgraphs included; its folder is the caller's.

    `HeadwayError`: no such thread, or a server keeps it.
    """
    saver = backend.require_saver("rm")
    backend.rows(thread_id)
    saver.delete_thread(thread_id)


def copy(backend: Backend, thread_id: str, target: str) -> None:
    """A thread once more under another id, byte for byte, with the same checkpoint ids.

    `HeadwayError`: no such thread, or `target` exists.
    """
    store = backend.require_rows("copy")
    backend.rows(thread_id)
    if store.rows(target):
        raise HeadwayError(f"thread {target} exists: choose another name")
    store.copy(thread_id, target)


def last_steps(tree: ThreadTree, count: int, branches: Iterable[str] | None = None) -> set[str]:
    """The newest `count` checkpoints of each of `branches` (None: of all), for `prune`."""
    chosen = tree.branches if branches is None else branches
    kept: set[str] = set()
    for name in chosen:
        if name not in tree.branches:
            raise HeadwayError(f"thread {tree.thread_id} has no branch {name}")
        kept.update(node.id for node in tree.branches[name].nodes[-count:])
    return kept


def prune(backend: Backend, tree: ThreadTree, keep: Iterable[str]) -> Pruned:
    """Remove all checkpoints of a thread but `keep`.

    What stays can be read, forked and continued as before and keeps its ids and step numbers.
    Run it while nothing else writes to the thread.
    `HeadwayError`: nothing to keep, a checkpoint that is not there, or a server keeps it.
    """
    store = backend.require_rows("prune")
    saver = backend.require_saver("prune")
    kept = frozenset(keep)
    if not kept:
        raise HeadwayError("prune would remove the whole thread: use rm for that")
    if unknown := kept - tree.nodes.keys():
        raise HeadwayError(f"thread {tree.thread_id} has no checkpoint {min(unknown)}")
    seeds: dict[str, Mapping[str, Any]] = {}
    for checkpoint_id in sorted(kept):
        if tree.nodes[checkpoint_id].parent not in kept:
            config = address(tree.thread_id, checkpoint_id)
            seeds[checkpoint_id] = _full_copies(saver, config, delta_channels(backend))
    store.prune(tree.thread_id, kept, {i: values for i, values in seeds.items() if values})
    return Pruned(removed=len(tree.nodes) - len(kept), kept=len(kept))


def heads_after_prune(heads: Heads, before: ThreadTree, kept: Iterable[str]) -> Heads:
    """Heads whose names go on at the first checkpoint that is left of each branch."""
    left = set(kept)
    starts = dict(heads.keeping(before.starts).starts)
    for name, branch in before.branches.items():
        first = next((node.id for node in branch.nodes if node.id in left), None)
        if first is not None:
            starts[name] = first
    return Heads(heads.current, starts)


def delta_channels(backend: Backend) -> dict[str, DeltaChannel[Any]]:
    """The graph's delta channels by name."""
    channels = getattr(backend.graph, "channels", {})
    return {k: channel for k, channel in channels.items() if isinstance(channel, DeltaChannel)}


def check_whole(backend: Backend, thread_id: str, rows: Iterable[Row]) -> None:
    """`HeadwayError` where checkpoints were removed that a delta channel is rebuilt from.

    LangGraph itself would show an empty channel instead.
    """
    deltas = delta_channels(backend)
    if backend.saver is None or not deltas:
        return
    known = {row.id: row for row in rows}
    for row in known.values():
        if row.parent is None or row.parent in known:
            continue
        stored = backend.saver.get_tuple(address(thread_id, row.id))
        if stored is not None and _missing(stored, deltas):
            raise HeadwayError(
                f"thread {thread_id} was pruned without what {', '.join(deltas)} is rebuilt from: "
                f"checkpoint {row.parent} is gone; restore the database from a copy"
            )


def _missing(stored: CheckpointTuple, deltas: Mapping[str, DeltaChannel[Any]]) -> list[str]:
    """Delta channels that a checkpoint was given values for and holds no full copy of."""
    versions, values = stored.checkpoint["channel_versions"], stored.checkpoint["channel_values"]
    return [name for name in deltas if name in versions and name not in values]


def _full_copies(
    saver: BaseCheckpointSaver[Any], config: RunnableConfig, deltas: Mapping[str, DeltaChannel[Any]]
) -> dict[str, Any]:
    """Values, as the saver stores full ones, of the channels that a checkpoint has no copy of."""
    stored = saver.get_tuple(config)
    names = _missing(stored, deltas) if stored is not None else []
    history = saver.get_delta_channel_history(config=config, channels=names) if names else {}
    copies: dict[str, Any] = {}
    for name, past in history.items():
        channel = deltas[name].from_checkpoint(past.get("seed"))
        channel.replay_writes(past["writes"])
        copies[name] = _DeltaSnapshot(channel.get())
    return copies
