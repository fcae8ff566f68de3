"""The four ways a model is called (sync or async, streamed or not) as one parameter."""

import asyncio
from collections.abc import Callable, Sequence
from typing import Any

import pytest
from langchain_core.callbacks import AsyncCallbackHandler, BaseCallbackHandler
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage
from langchain_core.tools import tool
from langchain_core.tracers._streaming import _StreamingCallbackHandler
from pydantic import SecretStr

from headway.models.call import acall_model, call_model
from headway.models.dialect import Dialect
from headway.models.named import open_model
from headway.models.openai import OpenAIModel
from headway.models.retry import RetryPolicy

WAYS = ("sync", "sync stream", "async", "async stream")
SAMPLED_WAYS = (
    "sync",
    "async stream",
    pytest.param("sync stream", marks=pytest.mark.slow),
    pytest.param("async", marks=pytest.mark.slow),
)
"""For long tables: a pairwise sample in the fast suite, the whole product in the slow one."""

ONCE = RetryPolicy(attempts=1)
QUICK = RetryPolicy(attempts=4, first_wait=0.001)
ASK: Sequence[BaseMessage] = (SystemMessage("Be brief."), HumanMessage("What is in a.txt?"))


@tool
def read_file(path: str, limit: int = 10) -> str:
    """Read a file."""
    return path * limit


@tool
def bash(command: str) -> str:
    """Run a command."""
    return command


_SENDER = OpenAIModel(model="m", api_key=SecretStr("sk-test"), base_url="http://127.0.0.1:1/v1")


class _Streams(BaseCallbackHandler, _StreamingCallbackHandler[Any]):
    """What LangGraph's `stream_mode="messages"` attaches: it makes `invoke` stream."""

    def tap_output_aiter(self, run_id: Any, output: Any) -> Any:
        return output

    def tap_output_iter(self, run_id: Any, output: Any) -> Any:
        return output


class _AStreams(AsyncCallbackHandler, _StreamingCallbackHandler[Any]):
    def tap_output_aiter(self, run_id: Any, output: Any) -> Any:
        return output

    def tap_output_iter(self, run_id: Any, output: Any) -> Any:
        return output


def opened(url: str, **model_args: Any) -> BaseChatModel:
    name = model_args.pop("model", "m")
    return open_model(f"openai:{name}", base_url=url, api_key="sk-test", model_args=model_args)


def sent(messages: Sequence[BaseMessage]) -> list[dict[str, Any]]:
    """The messages as they leave for an endpoint."""
    payload = _SENDER._payload(list(messages), None, {}, Dialect())
    return list(payload["messages"])


def ask(
    model: BaseChatModel,
    way: str,
    messages: Sequence[BaseMessage] = ASK,
    *,
    tools: Sequence[Any] = (read_file, bash),
    retries: RetryPolicy = ONCE,
    timeout: float = 20,
    notify: Callable[[dict[str, Any]], None] | None = None,
    tool_choice: str | None = None,
) -> AIMessage:
    """Call `model` in one of the `WAYS`."""
    options: dict[str, Any] = {
        "tools": tools,
        "retries": retries,
        "timeout": timeout,
        "notify": notify,
        "tool_choice": tool_choice,
    }
    if way.startswith("async"):
        config: Any = {"callbacks": [_AStreams()]} if "stream" in way else None
        return asyncio.run(acall_model(model, messages, config=config, **options))
    config = {"callbacks": [_Streams()]} if "stream" in way else None
    return call_model(model, messages, config=config, **options)
