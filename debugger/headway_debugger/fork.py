"""Forks: a new branch from any checkpoint, the original left as it is.

A fork is first a copy *beside* its original (`__copy__`), then, with edits, an update on that
copy. So nothing is ever written to the original's rows: LangGraph would store an edit of a tip
as results of the tip itself. A question is asked again, an answered one as well: only a copy
has no old answers, while `Command(resume=…)` at an answered checkpoint runs the old decision.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from langchain_core.runnables import RunnableConfig
from langgraph.types import Command, StateSnapshot

from headway_debugger.backend import MESSAGES, Backend, address
from headway_debugger.normal import messages_in
from headway_debugger.tree import ThreadTree, TreeNode
from headway_tools.errors import HeadwayError

COPY = "__copy__"
START = "__start__"


@dataclass(frozen=True)
class Edit:
    """Values for the graph's channels, written as if `as_node` had just run.

    `as_node=None`: the node that made the checkpoint, so that the same node follows unless
    the edit itself decides otherwise (an answer whose calls are gone goes elsewhere).
    """

    values: Mapping[str, Any] = field(default_factory=dict)
    as_node: str | None = None


@dataclass(frozen=True)
class Fork:
    """A new branch: its first checkpoint (the copy), its head, and what runs next from there."""

    start: str
    head: str
    next: tuple[str, ...]


def fork(backend: Backend, thread_id: str, node: TreeNode, edit: Edit | None = None) -> Fork:
    """Copy `node` as a new branch of its thread and write `edit` on it.

    Works from every checkpoint: start, end, mid-batch, before a question answered or not.
    Tasks of an unfinished step run again on the branch. Continue with
    `graph.invoke(None, address(thread_id, fork.head))`.
    `HeadwayError`: the edit does not fit, or the graph needs `as_node` to know how to go on.
    """
    before = backend.snapshot(thread_id, node.id)
    following = tuple(before.next)
    written, along = _split(backend, before, edit or Edit())
    as_node = _writer(node, following, edit) if edit and written else ""
    along = {**(backend.loose_writes(thread_id, node.id) or {}), **along}
    start = head = backend.update(thread_id, node.id, None, COPY)
    if written:
        note = {"hw_as_node": as_node, "hw_fork": node.id}
        head = backend.update(thread_id, start, written, as_node, note)
        after = tuple(backend.snapshot(thread_id, head).next)
        if not after and following and not _chosen(backend, edit, as_node):
            head, after = _go_on(backend, thread_id, head, as_node, following)
        following = after
    if along:
        backend.set_values(thread_id, head, along)
    return Fork(start, head, following)


def _split(
    backend: Backend, before: StateSnapshot, edit: Edit
) -> tuple[dict[str, Any], dict[str, Any]]:
    """What is written as a node's result, and what is only set.

    Messages decide what runs next, plain channels do not; a server can only do the first.
    """
    given = pending_input(backend, before)
    if not backend.local or edit.as_node not in (None, START):
        return _over(given, edit.values), {}
    along = {k: v for k, v in edit.values.items() if k != MESSAGES and k not in given}
    written = {k: v for k, v in edit.values.items() if k not in along}
    return (_over(given, written) if written else {}), along


def _chosen(backend: Backend, edit: Edit | None, as_node: str) -> bool:
    """Whether what follows an edit was decided: by the caller, or by the node's edges."""
    return bool(edit and edit.as_node is not None) or _has_edges(backend, as_node)


def continue_from(tree: ThreadTree, branch: str) -> RunnableConfig:
    """The config with which a graph goes on at the end of a branch.

    Input, `None` and `Command(resume=…)` belong at a tip: it has no child, so no answer was
    acted on there, and a new child cannot mix with an older one.
    `HeadwayError`: no such branch.
    """
    if branch not in tree.branches:
        names = ", ".join(tree.branches)
        raise HeadwayError(f"thread {tree.thread_id} has no branch {branch}: it has {names}")
    return address(tree.thread_id, tree.branches[branch].tip.id)


def editable(backend: Backend, thread_id: str, node: TreeNode) -> dict[str, Any]:
    """What an edit may start from: the state, with the input that a first step has not taken in."""
    snapshot = backend.snapshot(thread_id, node.id)
    given = pending_input(backend, snapshot)
    messages = messages_in([snapshot.values.get(MESSAGES, []), given.get(MESSAGES, [])])
    return {**given, **snapshot.values, MESSAGES: messages}


def pending_input(backend: Backend, snapshot: StateSnapshot) -> dict[str, Any]:
    """What a run was started with, at its first checkpoint, where it is not in the state yet."""
    if tuple(snapshot.next) != (START,):
        return {}
    given = snapshot.tasks[0].result
    if given is None and backend.saver is not None:
        stored = backend.saver.get_tuple(snapshot.config)
        given = stored.checkpoint["channel_values"].get(START) if stored else None
    return dict(given) if isinstance(given, dict) else {}


def _over(given: Mapping[str, Any], edited: Mapping[str, Any]) -> dict[str, Any]:
    """`edited` over an input: its messages replace those they were made from."""
    messages = messages_in([given.get(MESSAGES, [])])
    for message in messages_in([edited.get(MESSAGES, [])] if messages else []):
        made_from = (message.id, message.type)
        place = next(
            (i for i, old in enumerate(messages) if (old.id, old.type) == made_from), len(messages)
        )
        messages[place : place + 1] = [message]
    return {**given, **edited, **({MESSAGES: messages} if messages else {})}


def _writer(node: TreeNode, following: tuple[str, ...], edit: Edit) -> str:
    """The node to write an edit for."""
    if edit.as_node is not None:
        return edit.as_node
    if following == (START,):
        return START
    if len(node.writers) == 1:
        return node.writers[0]
    raise HeadwayError(
        f"step {node.name} was made by {', '.join(node.writers) or 'an edit'}: "
        "say for which node the edit counts (as_node)"
    )


def _has_edges(backend: Backend, node: str) -> bool:
    """Whether edges decide what follows `node`; without any, its own `Command` did."""
    builder = getattr(backend.graph, "builder", None)
    if builder is None:
        return False
    edges = {start for start, _ in builder.edges}
    joined = {start for starts, _ in builder.waiting_edges for start in starts}
    return node in edges or node in joined or bool(builder.branches.get(node))


def _go_on(
    backend: Backend, thread_id: str, head: str, as_node: str, following: tuple[str, ...]
) -> tuple[str, tuple[str, ...]]:
    """Name the next nodes again where only the node's own `Command(goto=…)` knew them."""
    if not backend.local:
        raise HeadwayError(
            f"after the edit nothing would run: {as_node} decides by itself what follows; "
            "name a node with an edge to what shall run (as_node)"
        )
    note = {"hw_as_node": as_node}
    head = backend.update(thread_id, head, Command(goto=list(following)), as_node, note)
    return head, tuple(backend.snapshot(thread_id, head).next)
