"""Tools whose results and errors are without the host's secrets before anybody is given them:
LangChain's callbacks, and with them every tracer, see what a tool returns before headway does.
"""

import traceback
from collections.abc import Callable
from dataclasses import replace
from functools import wraps
from typing import Any

from langchain_core.messages import BaseMessage
from langchain_core.tools import BaseTool
from langgraph.errors import GraphBubbleUp
from langgraph.types import Command

from headway_tools.errors import HeadwayError, ToolFailure, unexpected

Mask = Callable[[str], str]


def masking(tool: BaseTool, mask: Mask) -> BaseTool:
    """`tool` with `mask` over all that it returns or raises."""
    run, arun = tool._run, tool._arun

    @wraps(run)
    def masked_run(*args: Any, **kwargs: Any) -> Any:
        try:
            return masked(run(*args, **kwargs), mask)
        except Exception as error:
            if (told := _masked_error(error, mask)) is error:
                raise
            raise told from None

    @wraps(arun)
    async def masked_arun(*args: Any, **kwargs: Any) -> Any:
        try:
            return masked(await arun(*args, **kwargs), mask)
        except Exception as error:
            if (told := _masked_error(error, mask)) is error:
                raise
            raise told from None

    made = tool.model_copy()
    # Not by assignment: pydantic would refuse what is no declared field.
    object.__setattr__(made, "_run", masked_run)
    object.__setattr__(made, "_arun", masked_arun)
    return made


def masked(content: Any, mask: Mask) -> Any:
    """`content` (text, blocks, messages, an update of state) without secrets; any other object
    whose text has one becomes that text, masked."""
    try:
        return _masked(content, mask)
    except RecursionError:  # it holds itself
        return mask(str(content))


def _masked(content: Any, mask: Mask) -> Any:
    if isinstance(content, str):
        return mask(content)
    if isinstance(content, list):
        return [_masked(item, mask) for item in content]
    if isinstance(content, tuple):
        return tuple(_masked(item, mask) for item in content)
    if isinstance(content, dict):
        return {key: _masked(value, mask) for key, value in content.items()}
    if isinstance(content, BaseMessage):
        return content.model_copy(update={name: _masked(value, mask) for name, value in content})
    if isinstance(content, Command):
        return replace(content, update=_masked(content.update, mask))
    text = str(content)
    return content if (told := mask(text)) == text else told


def _masked_error(error: Exception, mask: Mask) -> Exception:
    """`error` itself where nothing of it, its causes included, is secret; else what to tell.
    What LangGraph or the user must see passes."""
    if isinstance(error, GraphBubbleUp | HeadwayError):
        return error
    whole = "".join(traceback.format_exception(error))
    if mask(whole) == whole:
        return error
    if isinstance(error, ToolFailure):
        details = masked(error.details, mask)
        return ToolFailure(error.code, mask(error.message), mask(error.next_step), **details)
    return unexpected(mask(f"{type(error).__name__}: {error}"))
