"""What the strictest server would refuse about a conversation."""

import json
from collections.abc import Iterator, Sequence
from collections.abc import Set as AbstractSet
from itertools import pairwise
from typing import Any, Final

from langchain_core.messages import AIMessage, BaseMessage, ToolMessage

from headway.ids import is_name, usable
from headway_tools.values import is_plain

CALL_KEYS: Final = ("tool_calls", "function_call")
"""Keys of `additional_kwargs` that a client would send as calls."""

_CALL_BLOCKS = frozenset(
    {"function_call", "tool_call", "tool_use", "invalid_tool_call", "tool_call_chunk"}
)


_THINKING_BLOCKS = frozenset({"reasoning", "thinking", "redacted_thinking"})

_SHOWN_BLOCKS = frozenset(
    {"text", "text-plain", "image_url", "image", "input_audio", "audio", "video_url", "video",
     "file", "document", "media"}
)  # fmt: skip
"""Of a person's or a tool's message; a reply's own blocks go back to the model that made them."""


def problems(
    messages: Sequence[BaseMessage],
    *,
    behind: BaseMessage | None = None,
    ids: AbstractSet[str | None] = frozenset(),
) -> list[str]:
    """What the strictest server would refuse about these messages, one line each.

    They may follow a conversation without problems that ends with `behind` and has the call `ids`.
    """
    found = [f"message {at}: {what}" for at, m in enumerate(messages) for what in _faults(m)]
    whole = [behind, *messages] if behind is not None else messages
    return [*found, *_order_faults(whole), *_pairing_faults(messages, set(ids))]


def _faults(message: BaseMessage) -> Iterator[str]:
    if not is_plain(message.content):
        yield "text that cannot be sent"
    if isinstance(message.content, list) and any(
        is_unsendable(block, message) or as_part(block, message) != block
        for block in message.content
    ):
        yield "a call, thinking, an empty text or an unknown form among the parts of the content"
    if isinstance(message, AIMessage):
        yield from _reply_faults(message)
    elif is_blank(message):
        yield f"empty {message.type} message"


def _reply_faults(message: AIMessage) -> Iterator[str]:
    if not message.tool_calls and is_blank(message):
        yield "empty assistant message"
    if message.invalid_tool_calls or any(key in message.additional_kwargs for key in CALL_KEYS):
        yield "calls besides tool_calls"
    for call in message.tool_calls:
        if not is_name(call["name"]):
            yield f"a tool name that no server allows: {call['name']!r:.80}"
        if not is_plain(call["args"]):
            yield f"arguments of {call['name']} that cannot be sent"


def _order_faults(messages: Sequence[BaseMessage]) -> Iterator[str]:
    kinds = [m.type for m in messages]
    if any(kind == "system" for kind in kinds[1:]):
        yield "a system message behind the first"
    spoken = [kind for kind in kinds if kind != "system"]
    if not spoken:
        yield "nothing is said"
    elif spoken[0] == "ai":
        yield "a reply is the first message"
    if spoken and spoken[-1] == "ai" and not getattr(messages[-1], "tool_calls", None):
        yield "a reply is the last message"
    for left, right in pairwise(spoken):
        if left == right and left in ("human", "ai"):
            yield f"two {left} messages in a row"
    for kind in set(kinds) - {"system", "human", "ai", "tool"}:
        yield f"a message of type {kind}"


def _pairing_faults(messages: Sequence[BaseMessage], seen: set[str | None]) -> Iterator[str]:
    waiting: list[str | None] = []
    for at, message in enumerate(messages):
        if isinstance(message, ToolMessage):
            if not waiting or message.tool_call_id != waiting.pop(0):
                yield f"message {at}: answers no call, or not in order"
            continue
        if waiting:
            yield f"message {at}: calls before it are not answered"
        waiting = [c["id"] for c in message.tool_calls] if isinstance(message, AIMessage) else []
        for call_id in waiting:
            if not usable(call_id) or call_id in seen:
                yield f"message {at}: a call id that is unusable or used twice"
            seen.add(call_id)
    if waiting:
        yield "the last calls are not answered"


def text_of(message: BaseMessage) -> str:
    """The text of a message, whatever form its content has."""
    return message.content if isinstance(message.content, str) else str(message.text)


def is_call_block(block: Any) -> bool:
    """A content block that some client would send as a tool call."""
    return isinstance(block, dict) and block.get("type") in _CALL_BLOCKS


def as_part(block: Any, message: BaseMessage) -> Any:
    """A content block in a form that clients send: itself, or a text block with its text."""
    if not isinstance(block, dict):
        return {"type": "text", "text": str(block)}
    kind, text = block.get("type"), block.get("text")
    if kind == "text":
        return block if isinstance(text, str) else {**block, "text": str(text or "")}
    known = kind in _SHOWN_BLOCKS | _CALL_BLOCKS | _THINKING_BLOCKS
    if known or not block or isinstance(message, AIMessage):
        return block
    return {"type": "text", "text": json.dumps(block, ensure_ascii=False)}


def is_unsendable(block: Any, message: BaseMessage) -> bool:
    """A content block that no request should hold in this message; thinking goes back, if at all,
    to the model that made it."""
    thinking = isinstance(block, dict) and block.get("type") in _THINKING_BLOCKS
    return is_void_block(block) or (thinking and not isinstance(message, AIMessage))


def is_void_block(block: Any) -> bool:
    """A content block that no request should hold: a call, or one that is empty."""
    if not isinstance(block, dict):
        return not str(block).strip()
    return is_call_block(block) or (
        block.get("type", "text") == "text" and not str(block.get("text") or "").strip()
    )


def is_blank(message: BaseMessage) -> bool:
    """No text and, besides text, nothing to show (an image counts)."""
    if isinstance(message.content, str) or isinstance(message, AIMessage):
        return not text_of(message).strip()
    return all(is_unsendable(block, message) for block in message.content)
