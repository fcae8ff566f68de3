"""Chat models that need no network: a policy (a function of the history) and a script (data).

Both decide from the messages alone, never from a counter, so a replay or a fork of a run gets the
same replies; both work with bind_tools, invoke, stream and their async forms.
"""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from pathlib import Path
from typing import Any, Final

from langchain_core.callbacks import CallbackManagerForLLMRun
from langchain_core.language_models import BaseChatModel, LanguageModelInput
from langchain_core.messages import (
    AIMessage,
    AIMessageChunk,
    BaseMessage,
    HumanMessage,
)
from langchain_core.messages.tool import tool_call_chunk
from langchain_core.outputs import ChatGeneration, ChatGenerationChunk, ChatResult
from langchain_core.runnables import Runnable
from langchain_core.utils.function_calling import convert_to_openai_tool
from langgraph.errors import GraphBubbleUp
from pydantic import Field

from headway.history import merged_names
from headway.models.failure import ModelFailure, classify
from headway.notes import AUTHOR, about_files, left_out
from headway.reply import RAW_CALLS
from headway.usage import wire_usage
from headway_tools.errors import HeadwayError

_FIELDS: Final[dict[str, tuple[type | tuple[type, ...], str]]] = {
    "content": ((str, list), "a text"),
    "reasoning": (str, "a text"),
    "tool_calls": ((list, tuple), 'a list of {"name", "args"} objects'),
    "finish_reason": (str, "a text"),
    "usage": (Mapping, 'an object like {"prompt_tokens": 8, "completion_tokens": 2}'),
    "refusal": (str, "a text"),
}
"""Of a script's entry: its type, and in words."""
_CALL_FIELDS: Final = {"name", "args", "id"}

Policy = Callable[[list[BaseMessage], list[dict[str, Any]]], AIMessage]
"""(the request's messages, the bound tools in OpenAI form) → the reply."""


class PolicyModel(BaseChatModel):
    """A chat model whose reply is `policy(messages, tools)`.

    The policy should depend on its arguments only. An exception of it reaches the caller of the
    model, as an endpoint's would; one of a mistake in it is not tried again (`ModelFailure`).
    """

    policy: Policy = Field(repr=False)

    @property
    def _llm_type(self) -> str:
        return "policy"

    def bind_tools(
        self, tools: Sequence[Any], *, tool_choice: str | None = None, **kwargs: Any
    ) -> Runnable[LanguageModelInput, AIMessage]:
        """Offer `tools` to the policy, in OpenAI form; with `tool_choice="none"`, offer none."""
        offered = [] if tool_choice == "none" else [convert_to_openai_tool(t) for t in tools]
        return self.bind(tools=offered, **kwargs)

    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        *,
        tools: list[dict[str, Any]] | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        reply = self._reply(messages, tools or [])
        return ChatResult(generations=[ChatGeneration(message=reply)])

    def _reply(self, messages: list[BaseMessage], tools: list[dict[str, Any]]) -> AIMessage:
        try:
            return self.policy(messages, tools)
        except (GraphBubbleUp, HeadwayError):
            raise
        except Exception as error:
            failure = classify(error)
            if failure.kind != "bad_response":
                raise
            what = f"the policy raised {type(error).__name__}: {failure.message}"
            raise ModelFailure("bad_response", what) from error

    def _stream(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        *,
        tools: list[dict[str, Any]] | None = None,
        **kwargs: Any,
    ) -> Iterator[ChatGenerationChunk]:
        for chunk in _chunks(self._reply(messages, tools or [])):
            generation = ChatGenerationChunk(message=chunk)
            if run_manager:
                run_manager.on_llm_new_token(str(chunk.content), chunk=generation)
            yield generation


def _chunks(reply: AIMessage) -> Iterator[AIMessageChunk]:
    """The reply as a stream: its text, each call, and what only a whole reply has."""
    if reply.content:
        yield AIMessageChunk(content=reply.content)
    for index, call in enumerate(reply.tool_calls):
        args = json.dumps(call["args"])
        yield AIMessageChunk(
            content="",
            tool_call_chunks=[
                tool_call_chunk(name=call["name"], args=args, id=call["id"], index=index)
            ],
        )
    yield AIMessageChunk(
        content="",
        additional_kwargs=reply.additional_kwargs,
        response_metadata=reply.response_metadata,
        usage_metadata=reply.usage_metadata,
        chunk_position="last",
    )


class ScriptedModel(PolicyModel):
    """A chat model that says the entries of a script in order.

    An entry is plain data: `{"content", "reasoning", "tool_calls": [{"name", "args", "id"}],
    "finish_reason", "usage": {"prompt_tokens", "completion_tokens"}, "refusal"}`, all optional;
    `args` may be a string, which is then what the model wrote, valid or not. Which entry is next
    is read from the history (`spoken`), so a fork continues at its own place. Where none is left
    the call fails (`ModelFailure`). Raises `HeadwayError` for what is no script.
    """

    script: list[dict[str, Any]]

    def __init__(self, script: Sequence[Mapping[str, Any]], **kwargs: Any) -> None:
        named = [(f"reply {at} of the script", entry) for at, entry in enumerate(script, 1)]
        entries = _checked("the script", named)
        super().__init__(**{"script": entries, "policy": self._next, **kwargs})

    @classmethod
    def from_file(cls, path: str | Path) -> "ScriptedModel":
        """Read a script, one JSON object a line; empty lines and lines with # are skipped.

        Raises:
            HeadwayError: no such file, or a line that is no entry.
        """
        try:
            lines = Path(path).read_text(encoding="utf-8").splitlines()
        except (OSError, UnicodeDecodeError) as error:
            raise HeadwayError(f"cannot read the script {path}: {error}") from error
        named = [(f"{path}, line {at}", line) for at, line in enumerate(lines, 1) if _holds(line)]
        return cls(_checked(str(path), [(where, _parsed(where, line)) for where, line in named]))

    @property
    def _llm_type(self) -> str:
        return "scripted"

    def _next(self, messages: list[BaseMessage], tools: list[dict[str, Any]]) -> AIMessage:
        at = spoken(messages)
        if at >= len(self.script):
            raise ModelFailure(
                "script_end", f"the script has no reply left after {len(self.script)}"
            )
        return _reply(self.script[at], at)


def spoken(messages: Sequence[BaseMessage]) -> int:
    """How many replies this conversation holds: its assistant messages, those that a shortened
    request leaves out, and the notes of headway that no assistant message precedes, which stand
    for an empty reply; notes about the workspace stand for none."""
    count = 0
    previous: str | None = None
    for message in messages:
        if isinstance(message, AIMessage):
            count, previous = count + 1, "reply"
            continue
        count += left_out(message)
        notes = about_files(str(message.text))
        for name in merged_names(message) if isinstance(message, HumanMessage) else [None]:
            if name == AUTHOR and notes:
                notes -= 1
                continue
            count += name == AUTHOR and previous != "reply"
            previous = "other"
    return count


def _holds(line: str) -> bool:
    return bool(line.strip()) and not line.lstrip().startswith("#")


def _parsed(where: str, line: str) -> Any:
    try:
        return json.loads(line)
    except ValueError as error:
        raise HeadwayError(f"{where}: not JSON ({error})") from error


def _checked(script: str, named: Sequence[tuple[str, Any]]) -> list[dict[str, Any]]:
    """The entries of a script, each given with where it stands."""
    if not named:
        raise HeadwayError(f'{script} holds no reply: add one like {{"content": "Hello"}}')
    for where, entry in named:
        _check(where, entry)
    return [dict(entry) for _, entry in named]


def _check(where: str, entry: Any) -> None:
    if not isinstance(entry, Mapping):
        raise HeadwayError(f'{where}: write an object like {{"content": "Hello"}}')
    _refuse_unknown(where, entry, _FIELDS.keys())
    for key, value in entry.items():
        kind, words = _FIELDS[key]
        if value is not None and not isinstance(value, kind):
            raise HeadwayError(f"{where}: {key} is {words}")
    for call in entry.get("tool_calls") or ():
        if not isinstance(call, Mapping):
            raise HeadwayError(f"{where}: tool_calls is {_FIELDS['tool_calls'][1]}")
        _refuse_unknown(f"{where}, tool_calls", call, _CALL_FIELDS)


def _refuse_unknown(where: str, given: Mapping[str, Any], known: AbstractSet[str]) -> None:
    if wrong := [key for key in given if key not in known]:
        names = ", ".join(sorted(known))
        raise HeadwayError(f"{where}: no such key: {wrong[0]}; known are {names}")


def _reply(entry: Mapping[str, Any], at: int) -> AIMessage:
    calls = [
        {
            "id": call.get("id", f"call_{at}_{index}"),
            "name": call.get("name"),
            "args": call.get("args", {}),
        }
        for index, call in enumerate(entry.get("tool_calls") or ())
    ]
    good = all(isinstance(c["args"], dict) and isinstance(c["name"], str) for c in calls)
    extra = {} if good else {RAW_CALLS: calls}
    if entry.get("refusal"):
        extra["refusal"] = entry["refusal"]
    if entry.get("reasoning"):
        extra["reasoning_content"] = entry["reasoning"]
    finish = entry.get("finish_reason", "tool_calls" if calls else "stop")
    return AIMessage(
        content=entry.get("content") or "",
        tool_calls=[{**call, "type": "tool_call"} for call in calls] if good else [],
        additional_kwargs=extra,
        response_metadata={"finish_reason": finish, "model_name": "scripted"},
        usage_metadata=wire_usage(entry.get("usage")),
    )
