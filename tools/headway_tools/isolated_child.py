"""The child's side of an isolated tool: what goes in, what comes out, and the call between.

It imports little, so that a tool that needs little starts soon.
"""

import asyncio
import contextlib
import ctypes
import importlib
import inspect
import os
import pickle
import runpy
import signal
import sys
import types
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from headway_tools.env import ToolEnv, use_env
from headway_tools.errors import FailureCode, ToolFailure
from headway_tools.workspace import Workspace

_DIE_WITH_PARENT: Final = 1
"""PR_SET_PDEATHSIG of prctl(2)."""


@dataclass(frozen=True)
class Target:
    """What the child calls: a function by where it is defined, or a whole tool, pickled."""

    module: str = ""
    name: str = ""
    tool: bytes = b""
    main: str | None = None
    """The file of a program whose own functions are tools."""


@dataclass(frozen=True)
class Request:
    """What goes into the child."""

    target: Target
    arguments: dict[str, Any]
    workspace: Workspace | None
    timeout: float


@dataclass(frozen=True)
class Reply:
    """What comes out of it. A failure's parts travel, since a ToolFailure does not pickle."""

    value: Any = None
    failure: tuple[FailureCode, str, str, dict[str, object]] | None = None


def serve(descriptor: int) -> None:
    """The child's side: one request on stdin, one reply into `descriptor`."""
    ctypes.CDLL(None).prctl(_DIE_WITH_PARENT, signal.SIGKILL)
    os.set_inheritable(descriptor, False)
    request = sys.stdin.buffer.read()
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    data = pickle.dumps(_answer(request))
    with open(descriptor, "wb") as file:
        file.write(data)


def function_of(tool: Any) -> Callable[..., Any] | None:
    """The function that a tool was made of, under all that was put around it."""
    function = getattr(tool, "func", None) or getattr(tool, "coroutine", None)
    return None if function is None else inspect.unwrap(function)


def _answer(request: bytes) -> Reply:
    """The tool's result or what it raised, as something that surely pickles."""
    try:
        reply = Reply(_execute(pickle.loads(request)))
        pickle.dumps(reply)
    except ToolFailure as failure:
        return Reply(
            failure=(failure.code, failure.message, failure.next_step, dict(failure.details))
        )
    except BaseException as error:
        return Reply(failure=("tool_error", f"{type(error).__name__}: {error}", "", {}))
    return reply


def _execute(request: Request) -> Any:
    from headway_tools.journal import MemoryJournal

    function = _function(request.target)
    journal = MemoryJournal()
    env = ToolEnv(request.workspace, None, journal, None, request.timeout)
    with contextlib.closing(journal), use_env(env):
        result = function(**request.arguments)
        return asyncio.run(result) if inspect.iscoroutine(result) else result


def _function(target: Target) -> Callable[..., Any]:
    """What a target names, under all that `tool` and `declare` put around it."""
    if target.tool:
        tool = pickle.loads(target.tool)
        return lambda **arguments: tool.invoke(arguments)
    found: Any = _module(target)
    for part in target.name.split("."):
        found = getattr(found, part)
    return function_of(found) or inspect.unwrap(found)


def _module(target: Target) -> types.ModuleType:
    if target.main is None:
        return importlib.import_module(target.module)
    module = types.ModuleType("__main__")
    module.__dict__.update(runpy.run_path(target.main, run_name="__mp_main__"))
    sys.modules["__main__"] = sys.modules["__mp_main__"] = module
    return module
