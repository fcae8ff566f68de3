"""Two checkpoints side by side: first differing step, messages, state, files, tokens, status.

Steps are compared by who made them and what they wrote, never by id or time, so branches of
one thread, whole threads and repeated runs compare alike.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from langchain_core.messages import AIMessage, BaseMessage, ToolMessage

from headway_debugger.backend import MESSAGES, Backend
from headway_debugger.steps import Tokens, made_by_tasks, tokens_of, written
from headway_debugger.tree import ThreadTree, TreeNode

_CHUNK = 64


class FileStore(Protocol):
    """Snapshots of a workspace by id, as `headway_tools.snapshots` keeps them."""

    def diff(self, before: str, after: str, /) -> Any: ...

    def patch(self, before: str, after: str, /) -> Any: ...


@dataclass(frozen=True)
class Side:
    """One checkpoint: its thread's tree and the node."""

    tree: ThreadTree
    node: TreeNode


@dataclass(frozen=True)
class Difference:
    """What differs between `a` and `b`; everything empty or None where they are the same."""

    first: tuple[TreeNode | None, TreeNode | None] | None
    """The first steps that differ; None on the side that ended before."""
    same_messages: int
    """How many messages both begin with."""
    messages: tuple[tuple[BaseMessage, ...], tuple[BaseMessage, ...]]
    """The messages behind those."""
    state: Mapping[str, tuple[Any, Any]]
    """Plain channels that differ, each with both values (`MISSING` where it has none)."""
    tokens: tuple[Tokens, Tokens]
    status: tuple[str, str]
    files: Any = None
    """What the file store's `diff` says, where both have a snapshot and they differ."""
    patch: Any = None

    @property
    def same(self) -> bool:
        """Whether nothing differs but ids, times and tokens."""
        return not (self.first or any(self.messages) or self.state or self.files)


@dataclass(frozen=True)
class _Missing:
    text: str = field(default="(not there)")

    def __repr__(self) -> str:
        return self.text


MISSING = _Missing()


def diff(
    backend: Backend,
    a: Side,
    b: Side,
    *,
    other: Backend | None = None,
    files: FileStore | None = None,
    files_key: str = "hw_files",
) -> Difference:
    """Compare two checkpoints, of one thread or two.

    `other` is b's backend where it is not a's. `files` compares the snapshots that the state
    names under `files_key`.
    """
    second = other or backend
    before = backend.snapshot(a.tree.thread_id, a.node.id)
    after = second.snapshot(b.tree.thread_id, b.node.id)
    mine, theirs = _list(before.values.get(MESSAGES)), _list(after.values.get(MESSAGES))
    same = _common(mine, theirs)
    old, new = before.values.get(files_key), after.values.get(files_key)
    changed, patch = _files(files, old, new)
    return Difference(
        first=first_difference(backend, a, b, other=other),
        same_messages=same,
        messages=(tuple(mine[same:]), tuple(theirs[same:])),
        state=state_difference(before.values, after.values, leave_out={MESSAGES, files_key}),
        tokens=(tokens_of(mine), tokens_of(theirs)),
        status=(_status(before), _status(after)),
        files=changed,
        patch=patch,
    )


def first_difference(
    backend: Backend, a: Side, b: Side, *, other: Backend | None = None
) -> tuple[TreeNode | None, TreeNode | None] | None:
    """The first steps of two lines that were made by other nodes or wrote other messages.

    None: no step differs. A side whose line ended before has None.
    """
    lines = _own_steps(backend, a), _own_steps(other or backend, b)
    shared = 0
    if a.tree.thread_id == b.tree.thread_id and other is None:
        for mine, theirs in zip(*lines, strict=False):
            if mine.id != theirs.id:
                break
            shared += 1
    left = _signed(backend, a, lines[0][shared:])
    right = _signed(other or backend, b, lines[1][shared:])
    while True:
        one, two = next(left, None), next(right, None)
        if one is None and two is None:
            return None
        if one is None or two is None or one[1] != two[1]:
            return one and one[0], two and two[0]


def message_signature(message: BaseMessage) -> tuple[Any, ...]:
    """What makes two messages the same: kind, content, calls and status, not ids or usage."""
    calls: list[Any] = []
    if isinstance(message, AIMessage):
        calls = [(call["name"], call["args"]) for call in message.tool_calls]
    status = message.status if isinstance(message, ToolMessage) else None
    return (message.type, message.content, calls, status, message.name)


def state_difference(
    a: Mapping[str, Any], b: Mapping[str, Any], *, leave_out: set[str]
) -> dict[str, tuple[Any, Any]]:
    """Keys whose values differ, with both values."""
    keys = sorted((a.keys() | b.keys()) - leave_out)
    pairs = {key: (a.get(key, MISSING), b.get(key, MISSING)) for key in keys}
    return {key: pair for key, pair in pairs.items() if pair[0] != pair[1]}


def _own_steps(backend: Backend, side: Side) -> list[TreeNode]:
    """The line to a checkpoint, with what a copy copies in its place unless it says otherwise."""
    line = side.tree.lineage(side.node)
    kept: list[TreeNode] = []
    for node in line:
        original = side.tree.branches[node.branch].forked_from
        if node.source != "fork" or written(backend, side.tree, node, {}):
            kept.append(node)
        elif original is not None and original.parent == node.parent:
            kept.append(original)
    return kept


def _signed(
    backend: Backend, side: Side, line: Sequence[TreeNode]
) -> Iterator[tuple[TreeNode, tuple[Any, ...]]]:
    """Each step with what is compared of it, read a chunk at a time."""
    for start in range(0, len(line), _CHUNK):
        chunk = line[start : start + _CHUNK]
        parents = {node.parent for node in chunk if node.parent and made_by_tasks(node)}
        produced = backend.produced(side.tree.thread_id, sorted(parents))
        for node in chunk:
            messages = written(backend, side.tree, node, produced)
            signatures = [message_signature(message) for message in messages]
            yield node, (node.writers, node.source == "input", signatures)


def _files(store: FileStore | None, before: object, after: object) -> tuple[Any, Any]:
    """The changed paths and the patch between two snapshots, where both are known."""
    if store is None or before == after:
        return None, None
    if not isinstance(before, str) or not isinstance(after, str):
        return None, None
    return store.diff(before, after), store.patch(before, after)


def _common(a: Sequence[BaseMessage], b: Sequence[BaseMessage]) -> int:
    count = 0
    for mine, theirs in zip(a, b, strict=False):
        if message_signature(mine) != message_signature(theirs):
            break
        count += 1
    return count


def _list(value: Any) -> list[BaseMessage]:
    return value if isinstance(value, list) else []


def _status(snapshot: Any) -> str:
    """A run's own word for how it ended, else where the graph stands."""
    outcome = snapshot.values.get("outcome")
    if isinstance(outcome, dict) and "status" in outcome and not snapshot.next:
        return str(outcome["status"])
    if snapshot.interrupts:
        return "waiting"
    return "unfinished" if snapshot.next else "ended"
