"""What the strictest of all servers refuses about a request: an oracle that shares no code with
headway."""

import json
import re
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

Body = dict[str, Any]


def wire_problems(body: Body) -> list[str]:
    """What the strictest of all servers refuses about a request (independent of headway's code)."""
    messages = body.get("messages")
    if not isinstance(messages, list) or not messages:
        return ["no messages"]
    found = list(_message_problems(messages))
    found += _order_problems(messages)
    found += _pairing_problems(messages)
    return found + list(_tool_problems(body))


def _message_problems(messages: list[Body]) -> Iterator[str]:
    for at, message in enumerate(messages):
        if _unsendable(message):
            yield f"{at}: a lone surrogate or a NUL"
        content, role = message.get("content"), message.get("role")
        empty = not content or (isinstance(content, str) and not content.strip())
        if empty and not (role == "assistant" and message.get("tool_calls")):
            yield f"{at}: an empty {role} message"
        for part in content if isinstance(content, list) else []:
            if part.get("type") not in ("text", "image_url", "input_audio", "file"):
                yield f"{at}: a content part of type {part.get('type')}"
        if unknown := set(message) - {"role", "content", "tool_calls", "tool_call_id"}:
            yield f"{at}: unknown fields {sorted(unknown)}"


def _order_problems(messages: list[Body]) -> Iterator[str]:
    roles = [message.get("role") for message in messages]
    if set(roles) - {"system", "user", "assistant", "tool"}:
        yield f"unknown roles in {roles}"
    if "system" in roles[1:]:
        yield "a system message that is not the first"
    spoken = [role for role in roles if role != "system"]
    if not spoken or spoken[0] != "user":
        yield "the first message is not the user's"
    if spoken and spoken[-1] == "assistant":
        yield "the last message is the assistant's"
    for left, right in pairwise(spoken):
        if left == right != "tool":
            yield f"two {left} messages in a row"


def _pairing_problems(messages: list[Body]) -> Iterator[str]:
    waiting: list[str] = []
    seen: set[str] = set()
    for at, message in enumerate(messages):
        if message.get("role") == "tool":
            if not waiting or message.get("tool_call_id") != waiting.pop(0):
                yield f"{at}: a tool message that answers no call, or out of order"
            continue
        if waiting:
            yield f"{at}: calls {waiting} were not answered"
        waiting = []
        for call in message.get("tool_calls") or []:
            call_id = call.get("id")
            if not isinstance(call_id, str) or not 0 < len(call_id) <= 64 or call_id in seen:
                yield f"{at}: a call id that is missing, too long or used twice: {call_id!r:.80}"
            seen.add(str(call_id))
            waiting.append(str(call_id))
            yield from _call_problems(at, call)
    if waiting:
        yield f"calls {waiting} were not answered"


def _call_problems(at: int, call: Body) -> Iterator[str]:
    function = call.get("function") or {}
    if not re.fullmatch(r"[A-Za-z0-9_-]{1,64}", str(function.get("name"))):
        yield f"{at}: a tool name that is not allowed"
    try:
        arguments = json.loads(function["arguments"])
    except (KeyError, TypeError, ValueError):
        yield f"{at}: arguments that are not JSON"
        return
    if not isinstance(arguments, dict) or _unsendable(arguments):
        yield f"{at}: arguments that are no object, or hold a lone surrogate or a NUL"


def _unsendable(value: object) -> bool:
    text = json.dumps(value, ensure_ascii=False)
    return re.search(r"[\ud800-\udfff]|(?<!\\)(?:\\\\)*\\u0000", text) is not None


def _tool_problems(body: Body) -> Iterator[str]:
    names = [tool["function"]["name"] for tool in body.get("tools") or []]
    if "tools" in body and not names:
        yield "an empty list of tools"
    if len(set(names)) != len(names):
        yield "two tools of one name"
    if "tool_choice" in body and not names:
        yield "tool_choice without tools"
