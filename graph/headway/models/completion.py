"""A chat completion from its decoded form, whole or in chunks, with nothing assumed of its types.

Both forms end in the same message. Arguments are kept as they were written: LangChain's stream
parser repairs a cut call into a valid one, and its client refuses lists before anybody sees them.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from langchain_core.messages import AIMessage, AIMessageChunk, InvalidToolCall, ToolCall
from langchain_core.messages.ai import UsageMetadata
from langchain_core.messages.tool import tool_call_chunk

from headway.models.failure import BadReply
from headway.reply import RAW_CALLS
from headway.usage import wire_usage
from headway_tools.values import bounded, clean_text

_FAILED: Final = frozenset(
    {"error", "abort", "aborted", "cancelled", "network_error", "engine_overloaded",
     "insufficient_system_resource"}
)  # fmt: skip
"""Reasons to stop that are the server's trouble: what came before them is no reply."""


@dataclass
class Draft:
    """One call so far. `wire_index` is the server's, which may be 0 or None for all of them."""

    wire_index: int | None
    id: str | None = None
    name: str = ""
    args: str = ""

    def strict_args(self) -> dict[str, Any] | None:
        """The arguments if they are a JSON object, without repair."""
        try:
            value = json.loads(self.args or "{}")
        except (ValueError, RecursionError):
            return None
        return value if isinstance(value, dict) else None


@dataclass
class Completion:
    """What a reply holds so far."""

    text: str = ""
    reasoning: str = ""
    refusal: str = ""
    calls: list[Draft] = field(default_factory=list)
    finish: str | None = None
    model: str | None = None
    usage: UsageMetadata | None = None
    chosen: bool = False
    """A choice was seen."""
    half: str = ""
    """The first half of a surrogate pair, whose second comes with the next piece of the text."""

    def take(self, body: object, *, whole: bool = False) -> AIMessageChunk:
        """Add a whole completion or one chunk of it; what was new, as a message chunk.

        Raises:
            BadReply: it is no completion, or an error object.
        """
        if not isinstance(body, Mapping):
            raise BadReply(f"the endpoint sent no completion object: {bounded(repr(body), 200)}")
        if error := _error_of(body):
            raise _error_reply(error)
        self.usage = wire_usage(body.get("usage")) or self.usage
        self.model = _string(body.get("model")) or self.model
        choices = body.get("choices")
        choice = choices[0] if isinstance(choices, list) and choices else None
        if not isinstance(choice, Mapping):
            return AIMessageChunk(content="")
        self.finish = _string(choice.get("finish_reason")) or self.finish
        if error := choice.get("error"):
            raise _error_reply(error)
        if (self.finish or "").lower() in _FAILED:
            raise BadReply(f"the endpoint broke the reply off: {self.finish}")
        said = choice.get("delta")
        said = choice.get("message") if said is None else said
        if isinstance(choice.get("text"), str):
            said = {"content": choice["text"]}
        self.chosen = self.chosen or isinstance(said, Mapping) or "delta" in choice
        if not isinstance(said, Mapping):
            return AIMessageChunk(content="")
        return self._take_said(said, whole=whole)

    def _take_said(self, said: Mapping[str, Any], *, whole: bool) -> AIMessageChunk:
        text, inner = _content(said.get("content"))
        text, self.half = _whole(self.half + text)
        reasoning = inner or _first_string(said, "reasoning_content", "reasoning")
        self.text += text
        self.reasoning += reasoning
        self.refusal += _string(said.get("refusal")) or ""
        calls = said.get("tool_calls")
        listed = calls if isinstance(calls, list) else [calls]
        entries = [call for call in listed if isinstance(call, Mapping)]
        if not entries and isinstance(said.get("function_call"), Mapping):
            entries = [{"index": 0, "function": said["function_call"]}]
        return AIMessageChunk(
            content=clean_text(text),
            additional_kwargs={"reasoning_content": clean_text(reasoning)} if reasoning else {},
            tool_call_chunks=[self._take_call(entry, whole=whole) for entry in entries],
        )

    def _take_call(self, entry: Mapping[str, Any], *, whole: bool) -> Any:
        function = entry.get("function")
        function = function if isinstance(function, Mapping) else entry
        given = function.get("arguments")
        args = given if isinstance(given, str) else "" if given is None else json.dumps(given)
        index = _index(entry.get("index"))
        name, id_ = _string(function.get("name")) or "", _string(entry.get("id"))
        draft = self._begin(index) if whole else self._draft(index, id_, name, args)
        new_name = "" if draft.name == name else name
        draft.id, draft.name, draft.args = draft.id or id_, draft.name + new_name, draft.args + args
        at = next(at for at, one in enumerate(self.calls) if one is draft)
        return tool_call_chunk(name=new_name or None, args=clean_text(args), id=id_, index=at)

    def _draft(self, index: int | None, id_: str | None, name: str, args: str) -> Draft:
        """The draft that a piece belongs to; a new one where it begins another call."""
        if index is None and (known := [one for one in self.calls if id_ and one.id == id_]):
            same = known
        else:
            same = [one for one in self.calls if index is None or one.wire_index == index]
        last = same[-1] if same else None
        if last is None or _begins_another(last, index, id_, name, args):
            return self._begin(index)
        return last

    def _begin(self, index: int | None) -> Draft:
        self.calls.append(Draft(index))
        return self.calls[-1]

    def rest(self) -> AIMessageChunk:
        """The end of the stream: what only a whole reply has."""
        return AIMessageChunk(
            content="",
            additional_kwargs=self._extra(with_reasoning=False),
            response_metadata=self._metadata(),
            usage_metadata=self.usage,
            chunk_position="last",
        )

    def message(self) -> AIMessage:
        """The whole reply."""
        good: list[ToolCall] = []
        bad: list[InvalidToolCall] = []
        for call in self.calls:
            args = call.strict_args()
            if args is not None:
                good.append(ToolCall(name=call.name, args=args, id=call.id, type="tool_call"))
            else:
                bad.append(
                    InvalidToolCall(
                        name=call.name,
                        args=call.args,
                        id=call.id,
                        error="no JSON object",
                        type="invalid_tool_call",
                    )
                )
        return AIMessage(
            content=clean_text(self.text),
            tool_calls=good,
            invalid_tool_calls=bad,
            additional_kwargs=self._extra(with_reasoning=True),
            response_metadata=self._metadata(),
            usage_metadata=self.usage,
        )

    def _extra(self, *, with_reasoning: bool) -> dict[str, Any]:
        extra: dict[str, Any] = {}
        if with_reasoning and self.reasoning:
            extra["reasoning_content"] = clean_text(self.reasoning)
        if self.refusal:
            extra["refusal"] = clean_text(self.refusal)
        if any(call.strict_args() is None for call in self.calls):
            extra[RAW_CALLS] = [
                {"id": call.id, "name": call.name, "args": clean_text(call.args)}
                for call in self.calls
            ]
        return extra

    def _metadata(self) -> dict[str, Any]:
        facts = {"finish_reason": self.finish, "model_name": self.model}
        return {"model_provider": "openai"} | {k: v for k, v in facts.items() if v is not None}


def _begins_another(last: Draft, index: int | None, id_: str | None, name: str, args: str) -> bool:
    if id_ and last.id:
        return id_ != last.id or bool(
            name and args and last.args and last.strict_args() is not None
        )
    if not name or not last.name:
        return False
    return index is None or bool(last.args) and last.strict_args() is not None


def _error_of(body: Mapping[str, Any]) -> object:
    """The error that a body is, with or without an envelope; None for a completion."""
    named = body.get("error")
    if named or "choices" in body:
        return named
    return body if any(body.get(key) for key in ("message", "detail", "msg")) else None


def _error_reply(error: object) -> BadReply:
    if not isinstance(error, Mapping):
        return BadReply(str(error), body={"error": {"message": str(error)}})
    code = error.get("code") or error.get("status")
    status = int(code) if isinstance(code, int | str) and str(code).isdigit() else None
    return BadReply(str(error.get("message") or error), status, {"error": error})


def _index(value: object) -> int | None:
    """The server's number of a call, also where it is written as text or as a float."""
    try:
        return None if value is None else int(value)  # type: ignore[call-overload]
    except (TypeError, ValueError, OverflowError):
        return None


def _whole(text: str) -> tuple[str, str]:
    """`text` without half a surrogate pair at its end, and that half."""
    return (text[:-1], text[-1]) if "\ud800" <= text[-1:] <= "\udbff" else (text, "")


def _content(content: object) -> tuple[str, str]:
    """(text, reasoning) of a content that is a string, null or a list of parts."""
    if isinstance(content, str):
        return content, ""
    text: list[str] = []
    thought: list[str] = []
    for part in content if isinstance(content, list) else ():
        if isinstance(part, str):
            text.append(part)
        elif isinstance(part, Mapping):
            text.append(_first_string(part, "text") if part.get("type") != "thinking" else "")
            thought.append(_content(part.get("thinking"))[0])
    return "".join(text), "".join(thought)


def _string(value: object) -> str | None:
    return value if isinstance(value, str) and value else None


def _first_string(source: Mapping[str, Any], *keys: str) -> str:
    return next((source[key] for key in keys if isinstance(source.get(key), str)), "")
