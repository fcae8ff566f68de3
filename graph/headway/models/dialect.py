"""What one endpoint does not understand, learnt from its own error text, and requests without it.

Compatible servers refuse fields that the protocol allows. Each refusal names the field, so one
adapted request follows, and the model object remembers.
"""

import re
from dataclasses import dataclass, replace
from typing import Any, Literal

from headway.models.failure import CONTEXT_WORDS

_OPTIONAL = ("stream_options", "parallel_tool_calls", "tool_choice", "stop")
_TOOL_TROUBLE = re.compile(
    r"expected peg|does not match the expected|failed to parse tool|no such (?:tool|function)|"
    r"unknown (?:tool|function)|undefined (?:tool|function)|"
    r"(?:tool|function)\b.{0,80}(?:not found|unknown|not exist|undefined|not in|must be)|"
    r"`?tools`?=? .{0,40}(?:must|required|specified)",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class Dialect:
    """Starts as what most servers take."""

    dropped: frozenset[str] = frozenset()
    """Fields of the request that are left out."""
    strict: bool = True
    """False: `strict` is taken out of tool declarations."""
    developer: bool = True
    """False: the `developer` role is written `system`."""
    reasoning: Literal["omit", "send", "never"] = "omit"
    """Whether `reasoning_content` goes back with earlier replies."""
    max_tokens: Literal["given", "other"] = "given"
    declare: bool = False
    """Tools that only the history calls are declared as well."""
    hint: bool = False
    """The request ends with a list of the tools that exist (of one request only)."""


def learn(dialect: Dialect, payload: dict[str, Any], status: int, text: str) -> Dialect | None:
    """The dialect after this refusal of `payload`; None if it teaches nothing new."""
    if status >= 500 or _TOOL_TROUBLE.search(text):
        return _learn_tools(dialect, payload, text)
    if status not in (400, 422) or CONTEXT_WORDS.search(text):
        return None
    new = replace(
        dialect,
        dropped=dialect.dropped | {f for f in _OPTIONAL if f in payload and _names(text, f)},
        strict=dialect.strict and not (_has_strict(payload) and _names(text, "strict")),
        developer=dialect.developer and not (_has_developer(payload) and "developer" in text),
        reasoning=_learn_reasoning(dialect, text),
    )
    if ("max_tokens" in payload and _names(text, "max_completion_tokens")) or (
        "max_completion_tokens" in payload and _names(text, "max_completion_tokens")
    ):
        new = replace(new, max_tokens="other")
    return new if new != dialect else None


def adapt(payload: dict[str, Any], reasoning: list[str | None], dialect: Dialect) -> dict[str, Any]:
    """`payload` as `dialect` wants it. `reasoning`: of each message, None for other roles."""
    payload = {key: value for key, value in payload.items() if key not in dialect.dropped}
    _rename_limit(payload, dialect)
    payload["messages"] = [
        _adapt_message(message, thought, dialect)
        for message, thought in zip(payload["messages"], reasoning, strict=True)
    ]
    if not dialect.strict:
        payload["tools"] = [_without_strict(tool) for tool in payload["tools"]]
    if dialect.declare and (unknown := _undeclared(payload)):
        if not payload.get("tools"):
            payload["tool_choice"] = "none"
        payload["tools"] = [*payload.get("tools", ()), *(_stub(name) for name in unknown)]
    if dialect.hint:
        payload["messages"] = _hinted(payload)
    return payload


def _rename_limit(payload: dict[str, Any], dialect: Dialect) -> None:
    if dialect.max_tokens == "other":
        for old, new in (
            ("max_completion_tokens", "max_tokens"),
            ("max_tokens", "max_completion_tokens"),
        ):
            if old in payload:
                payload[new] = payload.pop(old)
                return


def _adapt_message(
    message: dict[str, Any], thought: str | None, dialect: Dialect
) -> dict[str, Any]:
    message = {key: value for key, value in message.items() if key != "name"}
    if not dialect.developer and message["role"] == "developer":
        message["role"] = "system"
    if isinstance(message.get("content"), list):
        message["content"] = _flat(message["content"], only_text=message["role"] == "assistant")
    if dialect.reasoning == "send" and thought is not None:
        message["reasoning_content"] = thought
    return message


def _flat(blocks: list[Any], *, only_text: bool) -> Any:
    """Text blocks as one string, which every server reads; a list only where it holds more.
    Of a reply only the text goes back: no server takes the reasoning blocks of another."""
    texts = [b for b in blocks if isinstance(b, dict) and b.get("type") == "text"]
    if only_text or len(texts) == len(blocks):
        return "\n".join(str(b.get("text", "")) for b in texts) or None
    return blocks


def _learn_reasoning(dialect: Dialect, text: str) -> Literal["omit", "send", "never"]:
    if not _names(text, "reasoning_content"):
        return dialect.reasoning
    return "send" if dialect.reasoning == "omit" else "never"


def _learn_tools(dialect: Dialect, payload: dict[str, Any], text: str) -> Dialect | None:
    if not _TOOL_TROUBLE.search(text):
        return None
    if not dialect.declare and _undeclared(payload):
        return replace(dialect, declare=True)
    if not dialect.hint and payload.get("tools"):
        return replace(dialect, hint=True)
    return None


def _names(text: str, field: str) -> bool:
    """Whether `text` names the field, as it is written or in words."""
    words = field.replace("_", "[_ ]")
    return re.search(rf"\b{words}\b", text, re.IGNORECASE) is not None


def _has_strict(payload: dict[str, Any]) -> bool:
    return any("strict" in tool.get("function", {}) for tool in payload.get("tools") or ())


def _has_developer(payload: dict[str, Any]) -> bool:
    return any(message["role"] == "developer" for message in payload["messages"])


def _without_strict(tool: dict[str, Any]) -> dict[str, Any]:
    function = {k: v for k, v in tool.get("function", {}).items() if k != "strict"}
    return {**tool, "function": function}


def _undeclared(payload: dict[str, Any]) -> list[str]:
    declared = set(_tool_names(payload))
    called = (
        call["function"]["name"]
        for message in payload["messages"]
        for call in message.get("tool_calls") or ()
    )
    return list(dict.fromkeys(name for name in called if name not in declared))


def _tool_names(payload: dict[str, Any]) -> list[str]:
    return [tool["function"]["name"] for tool in payload.get("tools") or () if "function" in tool]


def _stub(name: str) -> dict[str, Any]:
    parameters = {"type": "object", "properties": {}}
    function = {
        "name": name,
        "description": "Not available: do not call.",
        "parameters": parameters,
    }
    return {"type": "function", "function": function}


def _hinted(payload: dict[str, Any]) -> list[dict[str, Any]]:
    names = ", ".join(_tool_names(payload))
    hint = (
        "Your last reply could not be read. Call one of these tools with a JSON object as "
        f"arguments, or answer in plain text: {names}"
    )
    *earlier, last = payload["messages"]
    if last["role"] == "user" and isinstance(last["content"], str):
        return [*earlier, {**last, "content": f"{last['content']}\n\n{hint}"}]
    return [*earlier, last, {"role": "user", "content": hint}]
