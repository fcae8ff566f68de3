"""What came back from a model, made into a reply that history and every server can carry.

Whatever is wrong with one call stays with that call as an error that the model can mend; whatever
is wrong with a reply without calls is named in `response_metadata["headway"]["problem"]`.
"""

import difflib
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from collections.abc import Set as AbstractSet
from typing import Any, Final, Literal, NamedTuple

from langchain_core.messages import AIMessage, AIMessageChunk, ToolCall

from headway.arguments import (
    BadArguments,
    check_arguments,
    describe,
    parse_arguments,
    tool_schema,
)
from headway.ids import as_name, short_id
from headway.printed import find_printed
from headway.promise import is_promise
from headway.usage import normal_usage
from headway.validity import is_call_block
from headway_tools.values import bounded, clean_text

Problem = Literal["empty", "cut", "refused", "printed_call", "promise", "format"]
Finish = Literal["stop", "tool_calls", "length", "content_filter", "unknown"]

RAW_CALLS: Final = "headway_raw_calls"
"""Key of `additional_kwargs`: calls exactly as a server sent them, `[{"id", "name", "args"}]`,
where a client's own reading of them could differ (a cut call repaired, a list refused)."""

READING: Final = "headway_reading"
"""Key of `additional_kwargs`: how an adapter that reads calls out of text (`headway.protocol`)
fared, `{"problem": "format" or None, "remarks": [what was left out, for the model]}`."""

ORIGINAL_LIMIT: Final = 500
"""Characters of a bad call's arguments that are kept in its error."""

_FINISHES: dict[str, Finish] = {
    "stop": "stop",
    "end_turn": "stop",
    "stop_sequence": "stop",
    "eos": "stop",
    "tool_calls": "tool_calls",
    "tool_use": "tool_calls",
    "function_call": "tool_calls",
    "length": "length",
    "max_tokens": "length",
    "max_output_tokens": "length",
    "model_length": "length",
    "token_limit": "length",
    "content_filter": "content_filter",
    "refusal": "content_filter",
    "safety": "content_filter",
    "sensitive": "content_filter",
    "blocked": "content_filter",
    "blocklist": "content_filter",
    "guardrail_intervened": "content_filter",
    "recitation": "content_filter",
    "prohibited_content": "content_filter",
}
_KEPT_METADATA = ("model_name", "model_provider", "system_fingerprint", "service_tier")
_THINKING = re.compile(r"\A\s*<(think|thinking|reasoning)>(.*?)(?:</\1>|\Z)\s*", re.DOTALL)
_SAFE_ID = re.compile(r"[A-Za-z0-9_-]{1,40}")
_NAME_NOISE = re.compile(r"<[|｜].*|\A(?:functions|default_api|tools)[./:]", re.DOTALL)


class RawCall(NamedTuple):
    """A call as it came: nothing of it is trusted."""

    id: object
    name: object
    args: object


class CallError(NamedTuple):
    code: str
    message: str
    next_step: str


def settle(
    message: AIMessage,
    *,
    tools: Mapping[str, Any],
    known_ids: AbstractSet[str],
) -> AIMessage:
    """A valid AIMessage (no chunk) from what a model returned.

    Each call has a short unique id (`known_ids` are those of the thread) and object arguments. A
    bad call stays, with arguments {}, and is listed in
    `response_metadata["headway"]["call_errors"]` as `{id: {"code", "message", "original",
    "next_step"}}`; it must be answered, not run. `["problem"]` says what is wrong with a reply
    without calls, or None. `["finish"]` is the reason the model stopped, in one vocabulary, and
    `["remarks"]`, where there are some, what an adapter left out of a reply with calls.

    Args:
        message: From any chat model, streamed or not.
        tools: Name → BaseTool, OpenAI tool dict or JSON schema, of the tools that were offered.
        known_ids: Call ids already in the thread.
    """
    text, reasoning = _texts(message)
    finish = _finish(message)
    refusal = message.additional_kwargs.get("refusal")
    refused = finish == "content_filter" or bool(refusal)
    text = text or (clean_text(str(refusal)) if refusal else "")
    raw = [] if refused else list(_raw_calls(message))
    looks_like_call = False
    if not raw and not refused and finish != "length":
        printed = find_printed(text, tools.keys())
        raw = [RawCall(None, call.name, call.args) for call in printed.calls]
        text, looks_like_call = printed.thought, printed.looks_like_call
    calls, errors = _settled_calls(raw, tools, known_ids, cut=finish == "length")
    reading = message.additional_kwargs.get(READING) or {}
    look: Problem | None = reading.get("problem") or ("printed_call" if looks_like_call else None)
    notes = {
        "finish": finish,
        "problem": None if calls else _problem(text, finish, refused, look),
        "call_errors": errors,
    }
    if calls and reading.get("remarks"):
        notes["remarks"] = reading["remarks"]
    return AIMessage(
        content=text,
        id=message.id,
        name=message.name,
        tool_calls=calls,
        additional_kwargs={"reasoning_content": reasoning} if reasoning else {},
        response_metadata={**_metadata(message), "headway": notes},
        usage_metadata=normal_usage(message),
    )


def _problem(text: str, finish: Finish, refused: bool, look: Problem | None) -> Problem | None:
    if refused:
        return "refused"
    if finish == "length":
        return "cut"
    if not text.strip():
        return "empty"
    return look or ("promise" if is_promise(text) else None)


def _texts(message: AIMessage) -> tuple[str, str]:
    """Text and reasoning, whatever form the content has."""
    spoken: list[str] = []
    thought: list[str] = []
    for block in [message.content] if isinstance(message.content, str) else message.content:
        if isinstance(block, str):
            spoken.append(block)
        elif isinstance(block, dict) and not is_call_block(block):
            thought.append(_of_block(block, "reasoning", "thinking", "reasoning_content"))
            spoken.append(_of_block(block, "text", "refusal"))
    kept = message.additional_kwargs.get("reasoning_content")
    if isinstance(kept, str):
        thought.insert(0, kept)
    inner, text = split_thinking("".join(spoken))
    thought.append(inner)
    return clean_text(text), clean_text("\n".join(part for part in thought if part))


def split_thinking(text: str) -> tuple[str, str]:
    """(thinking that a server left in the text between tags, the text behind it)."""
    match = _THINKING.match(text)
    return (match[2].strip(), text[match.end() :]) if match else ("", text)


def _of_block(block: dict[str, Any], *keys: str) -> str:
    return next((block[key] for key in keys if isinstance(block.get(key), str)), "")


def _finish(message: AIMessage) -> Finish:
    metadata = message.response_metadata
    for key in ("finish_reason", "stop_reason", "done_reason"):
        reason = metadata.get(key)
        if isinstance(reason, str) and reason:
            return _FINISHES.get(reason.lower(), "unknown")
    return "unknown"


def _metadata(message: AIMessage) -> dict[str, Any]:
    """The few plain facts of the reply that a checkpoint keeps."""
    facts = message.response_metadata
    kept = {key: facts[key] for key in _KEPT_METADATA if isinstance(facts.get(key), str)}
    reason = facts.get("finish_reason")
    kept |= {"finish_reason": reason} if isinstance(reason, str) else {}
    return {key: clean_text(value) for key, value in kept.items()}


def _raw_calls(message: AIMessage) -> Iterator[RawCall]:
    """The calls of a reply, in the least interpreted form that the client left."""
    raw = message.additional_kwargs.get(RAW_CALLS)
    if isinstance(raw, list):
        yield from (RawCall(c.get("id"), c.get("name"), c.get("args")) for c in raw)
    elif isinstance(message, AIMessageChunk) and message.tool_call_chunks:
        for chunk in message.tool_call_chunks:
            yield RawCall(chunk["id"], chunk["name"], chunk["args"])
    elif message.tool_calls or message.invalid_tool_calls:
        yield from (RawCall(c["id"], c["name"], c["args"]) for c in message.tool_calls)
        yield from (RawCall(c["id"], c["name"], c["args"]) for c in message.invalid_tool_calls)
    else:
        yield from _legacy_calls(message.additional_kwargs)


def _legacy_calls(extra: Mapping[str, Any]) -> Iterator[RawCall]:
    calls = [c for c in extra.get("tool_calls") or () if isinstance(c, dict)]
    if not calls and isinstance(extra.get("function_call"), dict):
        calls = [{"function": extra["function_call"]}]
    for call in calls:
        function = call.get("function") or {}
        yield RawCall(call.get("id"), function.get("name"), function.get("arguments"))


def _settled_calls(
    raw: Iterable[RawCall], tools: Mapping[str, Any], known_ids: AbstractSet[str], *, cut: bool
) -> tuple[list[ToolCall], dict[str, dict[str, str]]]:
    taken = set(known_ids)
    calls: list[ToolCall] = []
    errors: dict[str, dict[str, str]] = {}
    for call in raw:
        name = _tool_name(call.name, tools)
        call_id = _call_id(call, len(taken), taken)
        taken.add(call_id)
        args, error = _judged(name, call.args, tools, cut=cut)
        calls.append(ToolCall(name=name, args=args, id=call_id, type="tool_call"))
        if error:
            errors[call_id] = error._asdict() | {"original": _original(call.args)}
    return calls, errors


def _original(args: object) -> str:
    written = args if isinstance(args, str) else json.dumps(args, default=str)
    return clean_text(bounded(written, ORIGINAL_LIMIT))


def _call_id(call: RawCall, at: int, taken: AbstractSet[str]) -> str:
    if isinstance(call.id, str) and _SAFE_ID.fullmatch(call.id) and call.id not in taken:
        return call.id
    return short_id(taken, at, str(call.id), str(call.name), str(call.args))


def _tool_name(name: object, tools: Mapping[str, Any]) -> str:
    """The offered tool that `name` means, else a name that servers accept."""
    given = clean_text(name).strip() if isinstance(name, str) else ""
    if given in tools:
        return given
    bare = _NAME_NOISE.sub("", given).strip()
    return bare if bare in tools else as_name(bare)


def _judged(
    name: str, raw: object, tools: Mapping[str, Any], *, cut: bool
) -> tuple[dict[str, Any], CallError | None]:
    """The arguments to run with, or {} and why the call must not run."""
    if cut:
        return {}, CallError(
            "cut",
            "the reply ended at the output limit, so this call may be incomplete; it was not run",
            "write smaller pieces: several calls, each in a reply of its own",
        )
    if name not in tools:
        near = difflib.get_close_matches(name, list(tools), n=1)
        hint = f"did you mean {near[0]}? " if near else ""
        names = bounded(", ".join(tools) or "none", 400)
        return {}, CallError("unknown_tool", f"there is no tool {name}", f"{hint}tools: {names}")
    schema = tool_schema(tools[name])
    try:
        return check_arguments(parse_arguments(raw), schema), None
    except BadArguments as error:
        next_step = f"call {name} again with these parameters: {describe(schema)}"
        return {}, CallError("invalid_arguments", bounded(str(error), 500), bounded(next_step, 600))
