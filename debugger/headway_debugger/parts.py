"""The parts of a thread: each began with something from outside, a message or the resume of a run
that had ended."""

from collections.abc import Sequence
from dataclasses import dataclass

from langchain_core.messages import BaseMessage, HumanMessage

from headway.limits import Limits
from headway.notes import AUTHOR, about_files, is_human
from headway_debugger.threads import Thread
from headway_debugger.tree import TreeNode

_BEGINNINGS = ((), ("__start__",))


@dataclass(frozen=True)
class Part:
    """`given` came from outside; at the end the thread held `messages`, and its outcome named
    `limits` (None: the part has no outcome)."""

    given: tuple[HumanMessage, ...]
    messages: tuple[BaseMessage, ...]
    limits: Limits | None


def parts_of(thread: Thread, node: TreeNode) -> list[Part]:
    """The parts on the way to `node`; of a pruned thread as far as its messages tell."""
    line = thread.tree.lineage(node)
    entries = [index for index, step in enumerate(line) if "enter" in step.writers]
    if line[0].parent is not None or not entries:
        return _by_messages(said_at(thread, node))
    parts: list[Part] = []
    known: set[str | None] = set()
    for entry, following in zip(entries, [*entries[1:], None], strict=True):
        given = [m for m in _people(said_at(thread, line[entry])) if m.id not in known]
        end = line[-1] if following is None else _before(line, following)
        messages = said_at(thread, end)
        limits = (thread.state(end).get("outcome") or {}).get("limits")
        parts.append(Part(tuple(given), messages, Limits(**limits) if limits else None))
        known = {message.id for message in messages}
    return parts


def said_at(thread: Thread, node: TreeNode) -> tuple[BaseMessage, ...]:
    """The history at a step, without what it tells of the world outside (the workspace)."""
    messages: list[BaseMessage] = thread.state(node).get("messages") or []
    return tuple(m for m in messages if m.name != AUTHOR or not about_files(str(m.text)))


def _before(line: Sequence[TreeNode], entry: int) -> TreeNode:
    """The last step before what came from outside for `entry`."""
    index = entry - 1
    while index > 0 and line[index].writers in _BEGINNINGS:
        index -= 1
    return line[index]


def _by_messages(messages: tuple[BaseMessage, ...]) -> list[Part]:
    """A part for each message of a person."""
    people = _people(messages)
    ends = [*(messages.index(later) for later in people[1:]), len(messages)]
    return [Part((m,), messages[:end], None) for m, end in zip(people, ends, strict=False)]


def _people(messages: Sequence[BaseMessage]) -> list[HumanMessage]:
    return [m for m in messages if isinstance(m, HumanMessage) and is_human(m)]
