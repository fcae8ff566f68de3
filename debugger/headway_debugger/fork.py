"""Forks: a new branch from any checkpoint, the original left as it is.

A fork is a copy *beside* its original (`__copy__`); edits go on the copy. LangGraph would store
an edit of a tip as results of the tip itself. A question is asked again, an answered one as
well: only a copy has no old answers, `Command(resume=…)` would run the old decision.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from langchain_core.runnables import RunnableConfig
from langgraph.types import StateSnapshot

from headway_debugger.backend import MESSAGES, Backend, address
from headway_debugger.normal import messages_in
from headway_debugger.rows import AS_NODE
from headway_debugger.tree import ThreadTree, TreeNode
from headway_tools.errors import HeadwayError

COPY = "__copy__"
START = "__start__"


@dataclass(frozen=True)
class Edit:
    """Values for the graph's channels, through their reducers.

    `as_node=None`: the values are set and what runs next stays. With `reroute` they count as
    the result of the node that made the checkpoint, whose edges decide anew (a reply whose
    calls are gone goes elsewhere).
    """

    values: Mapping[str, Any] = field(default_factory=dict)
    as_node: str | None = None
    reroute: bool = False


@dataclass(frozen=True)
class Fork:
    """A new branch: its first checkpoint (the copy), its head, and what runs next from there."""

    start: str
    head: str
    next: tuple[str, ...]


def fork(backend: Backend, thread_id: str, node: TreeNode, edit: Edit | None = None) -> Fork:
    """Copy `node` as a new branch of its thread and put `edit` on it.

    Works from every checkpoint: start, end, mid-batch, before a question answered or not.
    Tasks of an unfinished step run again on the branch. Continue with
    `graph.invoke(None, address(thread_id, fork.head))`.
    `HeadwayError`: the edit does not fit, or the graph needs `as_node` to know how to go on.
    """
    before = backend.snapshot(thread_id, node.id)
    plan = _plan(backend, node, before, edit or Edit())
    kept = backend.loose_writes(thread_id, node.id)
    start = head = backend.update(thread_id, node.id, None, COPY)
    following = tuple(before.next)
    if plan.written:
        note = {AS_NODE: plan.as_node}
        head = backend.update(thread_id, start, plan.written, plan.as_node, note)
        following = tuple(backend.snapshot(thread_id, head).next)
        _check_next(edit or Edit(), tuple(before.next), following)
    if along := merged(kept, plan.along):
        backend.set_values(thread_id, head, along)
    return Fork(start, head, following)


@dataclass(frozen=True)
class _Plan:
    """How an edit gets into a branch: `written` as a node's result, `along` set beside it."""

    written: dict[str, Any]
    as_node: str
    along: dict[str, Any]


def _plan(backend: Backend, node: TreeNode, before: StateSnapshot, edit: Edit) -> _Plan:
    """Set what may be set: what runs next then stays. A server can only write."""
    given = pending_input(backend, before)
    as_node = edit.as_node or (START if tuple(before.next) == (START,) else None)
    if not backend.local or edit.reroute or as_node not in (None, START):
        written = over(given, edit.values) if edit.values else {}
        return _Plan(written, _writer(backend, node, before, edit) if written else "", {})
    accepted = {MESSAGES, *given} if as_node == START else set()
    taken = {key: value for key, value in edit.values.items() if key in accepted}
    along = {key: value for key, value in edit.values.items() if key not in accepted}
    return _Plan(over(given, taken) if taken else {}, START, along)


def _writer(backend: Backend, node: TreeNode, before: StateSnapshot, edit: Edit) -> str:
    """The node to write an edit for."""
    following = tuple(before.next)
    if edit.as_node is not None:
        return edit.as_node
    if following == (START,):
        return START
    leading = None if edit.reroute else _leads_to(backend, following)
    if leading is not None:
        return leading
    if len(node.writers) == 1:
        return node.writers[0]
    raise HeadwayError(
        f"step {node.name} was made by {', '.join(node.writers) or 'an edit'}: "
        "say for which node the edit counts (as_node)"
    )


def _check_next(edit: Edit, wanted: tuple[str, ...], following: tuple[str, ...]) -> None:
    """An edit that was written because it could not be set must not change what runs next."""
    if edit.as_node is None and not edit.reroute and wanted not in ((START,), following):
        raise HeadwayError(
            f"with this edit {', '.join(following) or 'nothing'} would run next instead of "
            f"{', '.join(wanted) or 'nothing'}: name a node with an edge to it (as_node)"
        )


def _leads_to(backend: Backend, following: tuple[str, ...]) -> str | None:
    """A node whose one edge goes to what runs next, whatever the state."""
    edges = backend.edges()
    for start in sorted({edge.source for edge in edges} - {START}):
        out = [edge for edge in edges if edge.source == start]
        if len(out) == 1 and not out[0].conditional and (out[0].target,) == following:
            return start
    return None


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


def over(given: Mapping[str, Any], edited: Mapping[str, Any]) -> dict[str, Any]:
    """`edited` over an input: its messages replace those they were made from."""
    messages = messages_in([given.get(MESSAGES, [])])
    for message in messages_in([edited.get(MESSAGES, [])] if messages else []):
        made_from = (message.id, message.type)
        place = next(
            (i for i, old in enumerate(messages) if (old.id, old.type) == made_from), len(messages)
        )
        messages[place : place + 1] = [message]
    return {**given, **edited, **({MESSAGES: messages} if messages else {})}


def merged(kept: Mapping[str, Any], along: Mapping[str, Any]) -> dict[str, Any]:
    """What is set on a branch: new values win, messages add up."""
    messages = messages_in([kept.get(MESSAGES, []), along.get(MESSAGES, [])])
    return {**kept, **along, **({MESSAGES: messages} if messages else {})}
