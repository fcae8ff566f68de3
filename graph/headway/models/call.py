"""Calling a model: one deadline for each attempt, retries by rule, every failure with a kind.

A synchronous call runs in a thread of its own and is abandoned at its deadline: a client's read
timeout starts anew with each byte, so a slow drip would hold it forever.
"""

import asyncio
import math
import time
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, Final

from langchain_core.language_models import BaseChatModel, LanguageModelInput
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.prompt_values import ChatPromptValue
from langchain_core.runnables import Runnable, RunnableConfig
from langgraph.errors import GraphBubbleUp

from headway.models.deadline import too_late, use_deadline
from headway.models.failure import ModelFailure, classify
from headway.models.retry import RetryPolicy
from headway.within import TooLate, call_within
from headway_tools.errors import HeadwayError

Notify = Callable[[dict[str, Any]], None]
"""Gets `{"type": "model_retry", "kind", "message", "status_code", "attempt", "wait",
"billed"}` before each wait."""

SHORTEST: Final = 0.05
"""Seconds that an attempt gets at least."""

Chat = Runnable[LanguageModelInput, AIMessage]


def call_model(
    model: BaseChatModel,
    messages: Sequence[BaseMessage],
    *,
    tools: Sequence[Any] = (),
    tool_choice: str | None = None,
    timeout: float = 300,
    within: float | None = None,
    retries: RetryPolicy | None = None,
    notify: Notify | None = None,
    config: RunnableConfig | None = None,
) -> AIMessage:
    """The model's reply to `messages`, as it came (`headway.reply.settle` judges it).

    Args:
        model: Any chat model; its own retries, if it has some, happen inside an attempt.
        messages: A valid request (`headway.history.mend`).
        tools: Tools to offer; none calls the model without tools.
        tool_choice: As in `bind_tools`; None leaves it to the model.
        timeout: Seconds for each attempt in all, slow drips included.
        within: Seconds for all attempts and waits together; None leaves them to `retries`.
        retries: Waits and number of attempts.
        notify: Told before each wait.
        config: Passed on to the model.

    Raises:
        ModelFailure: the last attempt's failure, with the number of attempts.
    """
    chat = _bound(model, tools, tool_choice)
    prompt = _prompt(messages)
    tries = _Tries(retries or RetryPolicy(), notify, timeout, within)
    while True:
        try:
            return _in_time(lambda: chat.invoke(prompt, config), tries.timeout())
        except (GraphBubbleUp, HeadwayError):
            raise
        except Exception as error:
            time.sleep(tries.wait_after(error))


async def acall_model(
    model: BaseChatModel,
    messages: Sequence[BaseMessage],
    *,
    tools: Sequence[Any] = (),
    tool_choice: str | None = None,
    timeout: float = 300,  # noqa: ASYNC109 -- the deadline of an attempt, not of this coroutine
    within: float | None = None,
    retries: RetryPolicy | None = None,
    notify: Notify | None = None,
    config: RunnableConfig | None = None,
) -> AIMessage:
    """`call_model` for an event loop, by the same rules; cancelling it closes the connection."""
    chat = _bound(model, tools, tool_choice)
    prompt = _prompt(messages)
    tries = _Tries(retries or RetryPolicy(), notify, timeout, within)
    while True:
        try:
            return await _ain_time(lambda: chat.ainvoke(prompt, config), tries.timeout())
        except (GraphBubbleUp, HeadwayError):
            raise
        except Exception as error:
            await asyncio.sleep(tries.wait_after(error))


class _Tries:
    """The attempts of one call so far."""

    def __init__(
        self, policy: RetryPolicy, notify: Notify | None, timeout: float, within: float | None
    ) -> None:
        self._policy, self._notify, self._timeout = policy, notify, timeout
        self._end = None if within is None else time.monotonic() + within
        self._count = self._timeouts = 0

    def timeout(self) -> float:
        """Seconds for the next attempt."""
        return min(self._timeout, max(SHORTEST, self._left()))

    def _left(self) -> float:
        return math.inf if self._end is None else self._end - time.monotonic()

    def wait_after(self, error: Exception) -> float:
        """Seconds to wait before the next attempt; raises the failure when there is none."""
        failure = classify(error)
        self._count += 1
        self._timeouts += failure.kind == "timeout"
        wait = self._policy.wait(failure, self._count, self._timeouts)
        if wait is None or wait >= self._left():
            failure.attempts = self._count
            raise failure from (None if failure is error else error)
        if self._notify:
            self._notify(
                {
                    "type": "model_retry",
                    "kind": failure.kind,
                    "message": failure.message,
                    "status_code": failure.status_code,
                    "attempt": self._count,
                    "wait": round(wait, 3),
                    "billed": failure.billed,
                }
            )
        return wait


def _bound(model: BaseChatModel, tools: Sequence[Any], tool_choice: str | None) -> Chat:
    if not tools:
        return model
    choice = {"tool_choice": tool_choice} if tool_choice else {}
    try:
        return model.bind_tools(list(tools), **choice)
    except NotImplementedError as error:
        name = type(model).__name__
        raise ModelFailure("no_tools", f"{name} has no bind_tools: it cannot call tools") from error


def _prompt(messages: Sequence[BaseMessage]) -> ChatPromptValue:
    """`messages` as they are: LangChain would convert a list, and validate a prompt, one by one."""
    return ChatPromptValue.model_construct(messages=messages)


def _in_time(call: Callable[[], AIMessage], timeout: float) -> AIMessage:
    """`call()` in a thread, at most `timeout` seconds; what comes later is dropped."""
    with use_deadline(timeout) as deadline:
        try:
            return call_within(call, timeout)
        except TooLate as late:
            raise too_late(timeout) from late
        finally:
            deadline.cancelled = True


async def _ain_time(call: Callable[[], Awaitable[AIMessage]], seconds: float) -> AIMessage:
    """The same in the event loop: `call()` is cancelled."""
    with use_deadline(seconds):
        limit = asyncio.timeout(seconds)
        try:
            async with limit:
                return await call()
        except TimeoutError as late:
            raise (too_late(seconds) if limit.expired() else late) from late
