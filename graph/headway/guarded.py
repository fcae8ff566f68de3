"""Exceptions of tools as values: a tool's failure is an observation, never the end of a run."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, Final

from langchain_core.messages import ToolCall, ToolMessage
from langgraph.errors import GraphBubbleUp
from langgraph.prebuilt.tool_node import ToolInvocationError

from headway_tools.errors import FailureCode, HeadwayError, ToolFailure, unexpected
from headway_tools.results import observation
from headway_tools.values import plain

MOST_OF_AN_ERROR: Final = 2000
"""Characters of a tool's exception that the model is shown."""


def guarded(run: Callable[[], Any]) -> Any:
    """What `run` returns, or its exception as a failure."""
    try:
        return run()
    except BaseException as error:
        return _caught(error)


async def aguarded(call: Awaitable[Any]) -> Any:
    """`guarded`, asynchronously."""
    try:
        return await call
    except BaseException as error:
        if isinstance(error, asyncio.CancelledError | GeneratorExit) and _ended_from_outside():
            raise
        return _caught(error)


def _ended_from_outside() -> bool:
    """Whether somebody cancels or closes this call; else it is the tool's own failure."""
    try:
        task = asyncio.current_task()
    except RuntimeError:
        return True
    return task is None or task.cancelling() > 0


def _caught(error: BaseException) -> dict[str, object]:
    """Any exception of a tool as a failure; what LangGraph or the user must see passes."""
    if isinstance(error, GraphBubbleUp | HeadwayError | KeyboardInterrupt):
        raise error
    return failed(as_failure(error))


def as_failure(error: BaseException) -> ToolFailure:
    """What the model is told about an exception: its own code or its first lines."""
    if isinstance(error, ToolFailure):
        return error
    if isinstance(error, ToolInvocationError):
        text = str(error)[:MOST_OF_AN_ERROR]
        return ToolFailure("invalid_arguments", text, "correct the arguments and call again")
    return unexpected(str(plain(error))[:MOST_OF_AN_ERROR])


def failed(failure: ToolFailure) -> dict[str, object]:
    """The result of a call that raised."""
    return {"failure": observation(failure.as_result())}


def unrecorded(
    call: ToolCall, result: dict[str, object], code: FailureCode | None = None
) -> ToolMessage:
    """The answer of a call that did not run; no journal holds it."""
    return ToolMessage(
        observation(result),
        name=call["name"],
        tool_call_id=call["id"],
        status="error" if code else "success",
        additional_kwargs={"code": code} if code else {},
    )
