"""What is known of a conversation, so that the next turn looks only at what is new in it.

Histories grow at their end; a turn that walks the whole would make a run of n rounds cost n².
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

from langchain_core.messages import AIMessage, BaseMessage, SystemMessage

from headway.validity import problems


@dataclass(frozen=True)
class Prefix:
    """A conversation without its system message, and what was found in it."""

    messages: list[BaseMessage] = field(default_factory=list)
    valid: bool = True
    """It can be sent as it is, behind a system message."""
    call_ids: frozenset[str] = frozenset()
    message_ids: frozenset[str] = frozenset()


def extended(before: Prefix, history: Sequence[BaseMessage]) -> Prefix:
    """What is known of `history`, which may begin with `before`."""
    count = len(before.messages)
    if before.messages != history[:count]:  # by identity, then by value
        before, count = Prefix(), 0
    new = list(history[count:])
    calls = [c["id"] or "" for m in new if isinstance(m, AIMessage) for c in m.tool_calls]
    last = before.messages[-1] if count else SystemMessage("system")
    return Prefix(
        messages=list(history),
        valid=before.valid and not problems(new, behind=last, ids=before.call_ids),
        call_ids=before.call_ids.union(calls),
        message_ids=before.message_ids.union(m.id for m in new if m.id),
    )
