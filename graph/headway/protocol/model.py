"""A chat model for models without tool calls: standard messages in and out, text in between.

Stateless: the conversation is made anew from the thread for each request, so a thread can change
its protocol at any reply.
"""

from collections.abc import AsyncIterator, Iterator, Sequence
from typing import Any, Final

from langchain_core.callbacks import AsyncCallbackManagerForLLMRun, CallbackManagerForLLMRun
from langchain_core.language_models import BaseChatModel, LanguageModelInput
from langchain_core.messages import (
    AIMessage,
    AIMessageChunk,
    BaseMessage,
    InvalidToolCall,
    ToolCall,
)
from langchain_core.messages.tool import tool_call_chunk
from langchain_core.outputs import ChatGeneration, ChatGenerationChunk, ChatResult
from langchain_core.runnables import Runnable, RunnableConfig
from langchain_core.utils.function_calling import convert_to_openai_tool

from headway.arguments import BadArguments, parse_arguments
from headway.protocol.contract import STOP
from headway.protocol.live import Live
from headway.protocol.reading import Reading, read_reply
from headway.protocol.transcript import transcript
from headway.reply import RAW_CALLS, READING, split_thinking

_QUIET: Final[RunnableConfig] = {"callbacks": [], "tags": ["nostream"]}
"""The inner call is part of ours: shown twice, its raw text would reach every stream."""

Tools = list[dict[str, Any]]


class TextProtocol(BaseChatModel):
    """`inner` speaking the text protocol; to everybody else a chat model with tool calls."""

    inner: BaseChatModel

    def __init__(self, inner: BaseChatModel, **kwargs: Any) -> None:
        super().__init__(**{"inner": inner, "profile": inner.profile, **kwargs})

    @property
    def _llm_type(self) -> str:
        return "headway-text-protocol"

    def bind_tools(
        self, tools: Sequence[Any], *, tool_choice: str | None = None, **kwargs: Any
    ) -> Runnable[LanguageModelInput, AIMessage]:
        """Write `tools` into the prompt; with `tool_choice="none"`, none. Other options concern
        native calls only."""
        offered = [] if tool_choice == "none" else [convert_to_openai_tool(t) for t in tools]
        return self.bind(tools=offered)

    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        *,
        tools: Tools | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        request = transcript(messages, tools or [])
        said = self.inner.invoke(request, _QUIET, stop=_stops(stop), **kwargs)
        return ChatResult(generations=[ChatGeneration(message=_message(said, tools))])

    async def _agenerate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: AsyncCallbackManagerForLLMRun | None = None,
        *,
        tools: Tools | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        request = transcript(messages, tools or [])
        said = await self.inner.ainvoke(request, _QUIET, stop=_stops(stop), **kwargs)
        return ChatResult(generations=[ChatGeneration(message=_message(said, tools))])

    def _stream(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        *,
        tools: Tools | None = None,
        **kwargs: Any,
    ) -> Iterator[ChatGenerationChunk]:
        live = _Stream(tools)
        request = transcript(messages, tools or [])
        for piece in self.inner.stream(request, _QUIET, stop=_stops(stop), **kwargs):
            if chunk := live.take(piece):
                if run_manager:
                    run_manager.on_llm_new_token(str(chunk.message.content), chunk=chunk)
                yield chunk
        yield live.rest()

    async def _astream(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: AsyncCallbackManagerForLLMRun | None = None,
        *,
        tools: Tools | None = None,
        **kwargs: Any,
    ) -> AsyncIterator[ChatGenerationChunk]:
        live = _Stream(tools)
        request = transcript(messages, tools or [])
        async for piece in self.inner.astream(request, _QUIET, stop=_stops(stop), **kwargs):
            if chunk := live.take(piece):
                if run_manager:
                    await run_manager.on_llm_new_token(str(chunk.message.content), chunk=chunk)
                yield chunk
        yield live.rest()


class _Stream:
    """The pieces of one streamed reply."""

    def __init__(self, tools: Tools | None) -> None:
        self._tools = tools
        self._live = Live()
        self._whole = AIMessageChunk(content="")

    def take(self, piece: AIMessageChunk) -> ChatGenerationChunk | None:
        """What of `piece` can be shown at once."""
        self._whole = self._whole + piece
        text = self._live.feed(str(piece.text))
        return ChatGenerationChunk(message=AIMessageChunk(content=text)) if text else None

    def rest(self) -> ChatGenerationChunk:
        """The end: the call, and what only a whole reply has."""
        message = _message(self._whole, self._tools)
        called = [*message.tool_calls, *message.invalid_tool_calls]
        raw = message.additional_kwargs.get(RAW_CALLS, called)
        return ChatGenerationChunk(
            message=AIMessageChunk(
                content=self._live.close(),
                additional_kwargs=message.additional_kwargs,
                response_metadata=message.response_metadata,
                usage_metadata=message.usage_metadata,
                tool_call_chunks=[
                    tool_call_chunk(
                        name=call["name"],
                        args=call["args"] if isinstance(call["args"], str) else None,
                        id=call["id"],
                        index=index,
                    )
                    for index, call in enumerate(raw)
                ],
                chunk_position="last",
            )
        )


def _message(said: AIMessage, tools: Tools | None) -> AIMessage:
    """The standard message of what the inner model said; real calls, if it made some, stay."""
    if said.tool_calls or said.invalid_tool_calls or RAW_CALLS in said.additional_kwargs:
        return said
    thinking, text = split_thinking(str(said.text))
    reading = read_reply(text)
    return AIMessage(
        content=reading.text,
        id=said.id,
        additional_kwargs={**said.additional_kwargs, **_extra(reading, thinking, said, tools)},
        response_metadata=said.response_metadata,
        usage_metadata=said.usage_metadata,
        **_calls(reading),
    )


def _extra(reading: Reading, thinking: str, said: AIMessage, tools: Tools | None) -> dict[str, Any]:
    known = said.additional_kwargs.get("reasoning_content")
    reasoning = "\n".join(filter(None, (known, thinking, reading.thought)))
    problem = "format" if tools and not reading.complete else None
    extra: dict[str, Any] = {READING: {"problem": problem, "remarks": list(reading.remarks)}}
    if reasoning:
        extra["reasoning_content"] = reasoning
    if reading.call:
        extra[RAW_CALLS] = [{"id": None, "name": reading.call.name, "args": reading.call.args}]
    return extra


def _calls(reading: Reading) -> dict[str, Any]:
    """The fields of a message that hold the call, readable or not."""
    if reading.call is None:
        return {}
    name, written = reading.call
    try:
        args = parse_arguments(written)
    except BadArguments as error:
        return {
            "invalid_tool_calls": [
                InvalidToolCall(
                    type="invalid_tool_call", name=name, args=written, id=None, error=str(error)
                )
            ]
        }
    return {"tool_calls": [ToolCall(type="tool_call", name=name, args=args, id=None)]}


def _stops(stop: list[str] | None) -> list[str]:
    return [*STOP, *(stop or ())]
