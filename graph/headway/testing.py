"""Chat models that need no network: a policy (a function of the history) and a script (data).

Both decide from the messages alone, never from a counter, so a replay or a fork of a run gets the
same replies; both work with bind_tools, invoke, stream and their async forms.
"""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
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

from headway.history import merged_names
from headway.models.failure import ModelFailure, classify
from headway.notes import AUTHOR, about_files
from headway.reply import RAW_CALLS
from headway.usage import wire_usage
from headway_tools.errors import HeadwayError

_KEYS: Final = {"content", "reasoning", "tool_calls", "finish_reason", "usage", "refusal"}
"""Of a script's entry."""

Policy = Callable[[list[BaseMessage], list[dict[str, Any]]], AIMessage]
"""(the request's messages, the bound tools in OpenAI form) → the reply."""


class PolicyModel(BaseChatModel):
    """A chat model whose reply is `policy(messages, tools)`.

    The policy should depend on its arguments only. An exception of it reaches the caller of the
    model, as an endpoint's would; one of a mistake in it is not tried again (`ModelFailure`).
    """

    policy: Policy

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
    is read from the history (`spoken`), so a fork continues at its own place. A used-up script is
    a `ModelFailure`, as an endpoint that refuses to go on would be.
    """

    script: list[dict[str, Any]]

    def __init__(self, script: Sequence[Mapping[str, Any]], **kwargs: Any) -> None:
        entries = [dict(entry) for entry in script]
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
        return cls([_entry(path, at, line) for at, line in enumerate(lines, 1) if _holds(line)])

    @property
    def _llm_type(self) -> str:
        return "scripted"

    def _next(self, messages: list[BaseMessage], tools: list[dict[str, Any]]) -> AIMessage:
        at = spoken(messages)
        if at >= len(self.script):
            count = len(self.script)
            what = f"the script has {count} replies and they are used up: add lines to it"
            raise ModelFailure("invalid_request", what)
        return _reply(self.script[at], at)


def spoken(messages: Sequence[BaseMessage]) -> int:
    """How many replies this conversation holds: its assistant messages, and the notes of headway
    that no assistant message precedes, which stand for a reply that was left out (an empty one);
    notes about the workspace stand for none."""
    count = 0
    previous: str | None = None
    for message in messages:
        if isinstance(message, AIMessage):
            count, previous = count + 1, "reply"
            continue
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


def _entry(path: str | Path, at: int, line: str) -> dict[str, Any]:
    try:
        entry = json.loads(line)
    except ValueError as error:
        raise HeadwayError(f"{path}, line {at}: not JSON ({error})") from error
    if not isinstance(entry, dict):
        raise HeadwayError(f'{path}, line {at}: write an object like {{"content": "Hello"}}')
    if wrong := set(entry) - _KEYS:
        known = ", ".join(sorted(_KEYS))
        raise HeadwayError(f"{path}, line {at}: no such key: {min(wrong)}; known are {known}")
    calls = entry.get("tool_calls") or []
    if not isinstance(calls, list) or not all(isinstance(call, dict) for call in calls):
        raise HeadwayError(f'{path}, line {at}: tool_calls is a list of {{"name", "args"}} objects')
    if not isinstance(entry.get("content"), str | list | None):
        raise HeadwayError(f"{path}, line {at}: content is a text")
    return entry


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
