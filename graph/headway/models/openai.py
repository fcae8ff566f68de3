"""The chat completions client: LangChain's request, our reading of what comes back.

ChatOpenAI drops reasoning, loses refusals in streams, repairs cut calls, raises on lists and
retries unseen; so the response is read here, from bytes. Each request has a connection of its
own: nothing is shared between threads, event loops and branches; no idle one is found dead.
"""

import os
from collections.abc import AsyncGenerator, AsyncIterator, Iterator
from contextlib import (
    AbstractAsyncContextManager,
    AbstractContextManager,
    aclosing,
    nullcontext,
)
from dataclasses import replace
from functools import cache
from typing import Any

import openai
from langchain_core.callbacks import AsyncCallbackManagerForLLMRun, CallbackManagerForLLMRun
from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage
from langchain_core.outputs import ChatGeneration, ChatGenerationChunk, ChatResult
from langchain_openai import ChatOpenAI
from langchain_openai.chat_models.base import global_ssl_context
from pydantic import PrivateAttr, model_validator

from headway.models.body import StreamReader, read_completion
from headway.models.deadline import check_deadline, seconds_left
from headway.models.dialect import Dialect, adapt, learn


class OpenAIModel(ChatOpenAI):
    """An OpenAI-compatible endpoint, strict or sloppy, streamed or not, with the same results."""

    _dialect: Dialect = PrivateAttr(default_factory=Dialect)

    @model_validator(mode="before")
    @classmethod
    def _take_idle_clients(cls, values: dict[str, Any]) -> dict[str, Any]:
        if values.get("openai_proxy") or os.environ.get("OPENAI_PROXY"):
            return values
        sync, async_ = _idle_clients()
        return {"http_client": sync, "http_async_client": async_, **values}

    @property
    def _llm_type(self) -> str:
        return "headway-openai"

    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        return _result(read_completion(b"".join(self._parts(messages, stop, kwargs))))

    async def _agenerate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: AsyncCallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        parts = [part async for part in self._aparts(messages, stop, kwargs)]
        return _result(read_completion(b"".join(parts)))

    def _stream(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        *,
        stream_usage: bool | None = None,
        **kwargs: Any,
    ) -> Iterator[ChatGenerationChunk]:
        reader = StreamReader()
        parts = self._parts(messages, stop, self._streamed(stream_usage, kwargs))
        for part in _until_done(parts, reader):
            for chunk in reader.feed(part):
                yield _told(chunk, run_manager)
        for chunk in reader.close():
            yield _told(chunk, run_manager)

    async def _astream(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: AsyncCallbackManagerForLLMRun | None = None,
        *,
        stream_usage: bool | None = None,
        **kwargs: Any,
    ) -> AsyncIterator[ChatGenerationChunk]:
        reader = StreamReader()
        parts = self._aparts(messages, stop, self._streamed(stream_usage, kwargs))
        async for part in _auntil_done(parts, reader):
            for chunk in reader.feed(part):
                yield await _atold(chunk, run_manager)
        for chunk in reader.close():
            yield await _atold(chunk, run_manager)

    def _streamed(self, stream_usage: bool | None, kwargs: dict[str, Any]) -> dict[str, Any]:
        usage = self._should_stream_usage(stream_usage, **kwargs)
        options = {"stream_options": {"include_usage": True}} if usage else {}
        return {**kwargs, **options, "stream": True}

    def _parts(
        self, messages: list[BaseMessage], stop: list[str] | None, kwargs: dict[str, Any]
    ) -> Iterator[bytes]:
        """The response's body as it comes, after as many adapted requests as teach something."""
        dialect = self._dialect
        while True:
            payload = self._payload(messages, stop, kwargs, dialect)
            try:
                with self._connection() as http:
                    client = self.root_client.with_options(http_client=http, max_retries=0)
                    create = client.chat.completions.with_streaming_response.create
                    with create(**payload) as response:
                        self._dialect = replace(dialect, hint=False)
                        for part in response.iter_bytes():
                            check_deadline()
                            yield part
                return
            except openai.APIStatusError as error:
                dialect = _learnt(dialect, payload, error)

    async def _aparts(
        self, messages: list[BaseMessage], stop: list[str] | None, kwargs: dict[str, Any]
    ) -> AsyncGenerator[bytes, None]:
        dialect = self._dialect
        while True:
            payload = self._payload(messages, stop, kwargs, dialect)
            try:
                async with self._aconnection() as http:
                    client = self.root_async_client.with_options(http_client=http, max_retries=0)
                    create = client.chat.completions.with_streaming_response.create
                    async with create(**payload) as response:
                        self._dialect = replace(dialect, hint=False)
                        async for part in response.iter_bytes():
                            yield part
                return
            except openai.APIStatusError as error:
                dialect = _learnt(dialect, payload, error)

    def _connection(self) -> AbstractContextManager[Any]:
        if self.http_client is not _idle_clients()[0]:
            return nullcontext(self.http_client)
        return openai.DefaultHttpxClient(verify=global_ssl_context)

    def _aconnection(self) -> AbstractAsyncContextManager[Any]:
        if self.http_async_client is not _idle_clients()[1]:
            return nullcontext(self.http_async_client)
        return openai.DefaultAsyncHttpxClient(verify=global_ssl_context)

    def _payload(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None,
        kwargs: dict[str, Any],
        dialect: Dialect,
    ) -> dict[str, Any]:
        payload = self._get_request_payload(messages, stop=stop, **kwargs)
        if self.openai_api_base:
            _plain_names(payload)
        reasoning = [
            str(m.additional_kwargs.get("reasoning_content") or "")
            if isinstance(m, AIMessage)
            else None
            for m in messages
        ]
        payload = adapt(payload, reasoning, dialect)
        left = seconds_left()
        return payload | ({"timeout": left} if left is not None else {})


@cache
def _idle_clients() -> tuple[openai.DefaultHttpxClient, openai.DefaultAsyncHttpxClient]:
    """Never used: they keep ChatOpenAI from building two TLS contexts for each model (0.2 s)."""
    return (
        openai.DefaultHttpxClient(verify=global_ssl_context),
        openai.DefaultAsyncHttpxClient(verify=global_ssl_context),
    )


def _until_done(parts: Iterator[bytes], reader: StreamReader) -> Iterator[bytes]:
    """`parts` up to the end of the reply: what the connection does after it is of no interest."""
    try:
        for part in parts:
            yield part
            if reader.done:
                return
    except Exception:
        if not reader.finished:
            raise


async def _auntil_done(
    parts: AsyncGenerator[bytes, None], reader: StreamReader
) -> AsyncIterator[bytes]:
    try:
        async with aclosing(parts):
            async for part in parts:
                yield part
                if reader.done:
                    return
    except Exception:
        if not reader.finished:
            raise


def _plain_names(payload: dict[str, Any]) -> None:
    """The names that servers other than OpenAI's know: `max_tokens`, and the role `system`."""
    if "max_completion_tokens" in payload:
        payload["max_tokens"] = payload.pop("max_completion_tokens")
    for message in payload["messages"]:
        if message["role"] == "developer":
            message["role"] = "system"


def _learnt(dialect: Dialect, payload: dict[str, Any], error: openai.APIStatusError) -> Dialect:
    new = learn(dialect, payload, error.status_code, f"{error} {error.body}")
    if new is None:
        raise error
    return new


def _result(message: AIMessage) -> ChatResult:
    return ChatResult(generations=[ChatGeneration(message=message)])


def _told(
    chunk: AIMessageChunk, run_manager: CallbackManagerForLLMRun | None
) -> ChatGenerationChunk:
    generation = ChatGenerationChunk(message=chunk)
    if run_manager:
        run_manager.on_llm_new_token(str(chunk.content), chunk=generation)
    return generation


async def _atold(
    chunk: AIMessageChunk, run_manager: AsyncCallbackManagerForLLMRun | None
) -> ChatGenerationChunk:
    generation = ChatGenerationChunk(message=chunk)
    if run_manager:
        await run_manager.on_llm_new_token(str(chunk.content), chunk=generation)
    return generation
