"""Token estimates without a tokenizer, which would have to be downloaded."""

import json
from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import Any, Final

from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.tools import BaseTool
from langchain_core.utils.function_calling import convert_to_openai_tool

from headway_tools.blocks import is_media

PER_CHARACTER: Final = 1 / 4
"""Tokens of a character of ASCII text."""

PER_EXTRA_BYTE: Final = 3 / 8
"""Tokens of each UTF-8 byte beyond the first of a character: a Chinese one is 1, a Cyrillic 0.6."""

PER_MESSAGE: Final = 4
PER_CALL: Final = 8
PER_MEDIUM: Final = 1_500
"""Tokens of an image, whatever its bytes."""

LEAST_FACTOR: Final = 0.6
MOST_FACTOR: Final = 3.0

_PAIRS: Final = 6
_LOOKED_AT: Final = 64
"""The newest messages, among which replies that report usage are looked for."""

_ENOUGH: Final = 300
"""Estimated tokens between replies from which the factor is learnt."""


def estimate_tokens(messages: Sequence[BaseMessage], factor: float = 1.0) -> int:
    """Tokens of `messages`, without system text and tools that a server adds."""
    return int(weight(messages) * factor)


def written_tokens(reply: AIMessage) -> int:
    """Tokens that a model wrote for `reply`. Its reasoning counts here only: few servers want it
    back, and what they report then makes up for it (`factor_from`)."""
    reasoning = reply.additional_kwargs.get("reasoning_content")
    return int(_message(reply) + (_text(reasoning) if isinstance(reasoning, str) else 0))


def weight(messages: Iterable[BaseMessage]) -> float:
    """`estimate_tokens` before the factor; exact, so the sum of parts is that of the whole."""
    return sum(map(_message, messages))


def tool_weight(tools: Iterable[BaseTool]) -> float:
    """Tokens of the tools as they are declared to a server, before the factor."""
    return sum(_value(convert_to_openai_tool(tool)) for tool in tools)


def factor_from(history: Sequence[BaseMessage]) -> float:
    """Reported by estimated tokens of what was added between the newest replies; 1.0 where too
    little is known. Differences, because the first reply's count holds the tools as well."""
    reported, estimated = 0, 0.0
    replies = _reporting(history, _PAIRS + 1)
    for earlier, later in pairwise(replies):
        more = _input_tokens(history[later]) - _input_tokens(history[earlier])
        between = weight(history[earlier:later])
        if more > LEAST_FACTOR / 2 * between:  # less: the later request was shortened
            reported, estimated = reported + more, estimated + between
    if estimated < _ENOUGH:
        return 1.0
    return min(max(reported / estimated, LEAST_FACTOR), MOST_FACTOR)


def overhead_from(messages: Sequence[BaseMessage], factor: float) -> int:
    """Tokens of tools and template: what the first reply reported beyond its messages."""
    for place, message in enumerate(messages):
        if isinstance(message, AIMessage):
            reported = _input_tokens(message)
            return max(reported - estimate_tokens(messages[:place], factor), 0) if reported else 0
    return 0


def _reporting(history: Sequence[BaseMessage], most: int) -> list[int]:
    """Places of the newest replies that carry usage, oldest first."""
    found: list[int] = []
    for place in range(len(history) - 1, max(len(history) - _LOOKED_AT, 0) - 1, -1):
        if _input_tokens(history[place]):
            found.append(place)
        if len(found) == most:
            break
    return found[::-1]


def _input_tokens(message: BaseMessage) -> int:
    usage = message.usage_metadata if isinstance(message, AIMessage) else None
    return usage.get("input_tokens", 0) if usage else 0


def _message(message: BaseMessage) -> float:
    tokens = PER_MESSAGE + _content(message.content)
    if isinstance(message, AIMessage):
        for call in message.tool_calls:
            tokens += PER_CALL + _value(call["args"])
    return tokens


def _content(content: str | list[Any]) -> float:
    if isinstance(content, str):
        return _text(content)
    return sum(PER_MEDIUM if is_media(block) else _value(block) for block in content)


def _value(value: Any) -> float:
    if isinstance(value, str):
        return _text(value)
    if isinstance(value, dict):
        return sum(2 + _text(str(key)) + _value(item) for key, item in value.items())
    if isinstance(value, list):
        return sum(1 + _value(item) for item in value)
    return _text(json.dumps(value, default=str))


def _text(text: str) -> float:
    tokens = len(text) * PER_CHARACTER
    if text.isascii():
        return tokens
    return tokens + (len(text.encode("utf-8", "surrogatepass")) - len(text)) * PER_EXTRA_BYTE
