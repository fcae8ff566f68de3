"""headway's own words to the model: added to an observation, or as one user message."""

import json
from collections.abc import Sequence
from typing import Any, Final

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage

AUTHOR: Final = "headway"
"""`name` of the user messages that headway writes; they are no human messages for limits."""

CHANGED_FILES: Final = "Since your last step the workspace was changed from outside:"
UNKNOWN_FILES: Final = (
    "The workspace holds files of steps that are no longer part of this conversation:"
)
OTHER_FILES: Final = (
    "The files of your earlier steps are not here: this is the workspace of a copied conversation. "
    "Look at it before you rely on anything."
)

_KINDS: Final[dict[str, type]] = {
    "call_errors": dict,
    "sent": dict,
    "remarks": list,
    "partial": bool,
    "left_out": int,
}
"""Of the notes that are no text."""

Content = str | list[str | dict[Any, Any]]

FIELD: Final = "headway"
"""Key of headway's own notes in a message's `response_metadata`, and in JSON observations."""


def annotate(observation: Content, note: str) -> Content:
    """`observation` with `note` at its end; a JSON object stays one (field `headway`)."""
    if not note:
        return observation
    if isinstance(observation, list):
        return [*observation, {"type": "text", "text": f"[{AUTHOR}] {note}"}]
    if observation.startswith("{"):
        try:
            value = json.loads(observation)
        except ValueError:
            value = None
        if isinstance(value, dict):
            return json.dumps({**value, FIELD: note}, ensure_ascii=False, separators=(", ", ": "))
    return f"{observation}\n\n[{AUTHOR}] {note}" if observation else f"[{AUTHOR}] {note}"


def from_headway(text: str) -> HumanMessage:
    """A user message by headway."""
    return HumanMessage(text, name=AUTHOR)


def about_files(text: str) -> int:
    """How many notes about what happened outside to the workspace `text` begins or was merged
    from; they stand for no reply, and say nothing of what headway did."""
    return sum(text.count(start) for start in (CHANGED_FILES, UNKNOWN_FILES, OTHER_FILES))


def meta(message: BaseMessage) -> dict[str, Any]:
    """headway's notes on a message (`problem`, `finish`, `call_errors`, …); {} where none. What an
    edit by hand made of another type counts as absent."""
    found = message.response_metadata.get(FIELD)
    if not isinstance(found, dict):
        return {}
    return {name: note for name, note in found.items() if isinstance(note, _KINDS.get(name, str))}


def left_out(message: BaseMessage) -> int:
    """How many replies a shortened request leaves out before `message`, which tells of them."""
    return int(meta(message).get("left_out", 0))


def is_human(message: BaseMessage) -> bool:
    """A person's message, not one of headway's."""
    return isinstance(message, HumanMessage) and message.name != AUTHOR


def is_own(message: BaseMessage, earlier: Sequence[BaseMessage]) -> bool:
    """Written by a headway run: its replies, its notes, and answers to its calls."""
    if isinstance(message, HumanMessage):
        return message.name == AUTHOR
    if isinstance(message, ToolMessage):
        return any(
            isinstance(m, AIMessage)
            and FIELD in m.response_metadata
            and any(call["id"] == message.tool_call_id for call in m.tool_calls)
            for m in reversed(earlier)
        )
    return isinstance(message, AIMessage) and FIELD in message.response_metadata
