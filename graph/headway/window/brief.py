"""Shorter copies of messages for a request: same ids, same calls, less text."""

import re
from typing import Any, Final

from langchain_core.messages import AIMessage, BaseMessage, ToolMessage

from headway.truncation.boundaries import cut_back, cut_forward
from headway_tools.blocks import READ_OUTPUT, blocks_text

FAILURE_CHARACTERS: Final = 1_200
"""Kept of the last failure, whatever else is cut."""

_SHORT: Final = 250
"""Characters below which only a beginning is kept."""

_READABLE = re.compile(READ_OUTPUT + r'\(id=\\?"(o-[0-9a-f]{8,64})')
_FAILED = re.compile(r'"ok": ?false|"exit_code": ?-?[1-9]')


def brief_message(message: BaseMessage, cap: int) -> BaseMessage:
    """`message` with each of its texts at most about `cap` characters long."""
    if isinstance(message, AIMessage):
        return _brief_reply(message, cap)
    text = message_text(message)
    if isinstance(message.content, str) and len(text) <= cap:
        return message
    return message.model_copy(update={"content": brief(text, cap)})


def brief(text: str, cap: int) -> str:
    """Head and tail of `text` around a note; it names the whole's id where `text` does."""
    if len(text) <= cap:
        return text
    if cap < _SHORT:
        return f"{text[: cut_back(text, cap - 30)]} [… {len(text)} characters in all …]"
    found = output_id(text)
    whole = f'; the whole: {READ_OUTPUT}(id="{found}")' if found else ""
    note = f"\n[… cut to fit the context window, {len(text)} characters in all{whole} …]\n"
    room = max(cap - len(note), 0)
    head = cut_back(text, room // 2)
    tail = cut_forward(text, len(text) - (room - room // 2))
    return text[:head] + note + text[tail:]


def output_id(text: str) -> str | None:
    """The id by which a shortened observation says it can be read."""
    found = _READABLE.search(text)
    return found[1] if found else None


def message_text(message: BaseMessage) -> str:
    """Its text; media of content blocks left out."""
    content = message.content
    return content if isinstance(content, str) else blocks_text(list(content))


def failed(message: ToolMessage) -> bool:
    """The call failed, or the command that it ran did."""
    return message.status == "error" or bool(_FAILED.search(message_text(message)[:400]))


def _brief_reply(message: AIMessage, cap: int) -> AIMessage:
    content = _brief_content(message.content, cap)
    calls = [{**call, "args": _brief_value(call["args"], cap)} for call in message.tool_calls]
    if content == message.content and calls == message.tool_calls:
        return message
    return message.model_copy(update={"content": content, "tool_calls": calls})


def _brief_content(content: str | list[Any], cap: int) -> str | list[Any]:
    if isinstance(content, str):
        return brief(content, cap)
    return [
        {**block, "text": brief(block["text"], cap)}
        if isinstance(block, dict) and block.get("type") == "text"
        else block
        for block in content
    ]


def _brief_value(value: Any, cap: int) -> Any:
    if isinstance(value, str):
        return brief(value, cap)
    if isinstance(value, dict):
        return {key: _brief_value(item, cap) for key, item in value.items()}
    if isinstance(value, list):
        return [_brief_value(item, cap) for item in value]
    return value
