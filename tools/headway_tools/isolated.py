"""A tool in a process of its own, killed at the time limit and, on cancel, at once.

The child is a fresh interpreter that imports the tool's module; only arguments, the workspace's
place and the result travel. It can be killed, that is all: it is no sandbox.
"""

import contextlib
import functools
import os
import pickle
import select
import signal
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from langchain_core.tools import BaseTool, StructuredTool

from headway_tools.env import ToolEnv, current_env
from headway_tools.errors import HeadwayError, ToolFailure
from headway_tools.isolated_child import Reply, Request, Target, function_of
from headway_tools.sandbox import Cancel, run_in_thread


def isolate(tool: BaseTool) -> BaseTool:
    """`tool` with each of its calls in a process of its own.

    The child must find the tool again: a function at the top of a module, or a tool object that
    pickles. `HeadwayError` for any other. Arguments and result are pickled, so a tool that wants
    LangGraph's runtime, state or store cannot be isolated.
    """
    function = function_of(tool)
    target = _target(tool, function)

    def run(**arguments: Any) -> Any:
        return call(target, arguments)

    async def arun(**arguments: Any) -> Any:
        env = current_env()
        return await run_in_thread(lambda cancel: call(target, arguments, env, cancel))

    if function is not None:
        functools.update_wrapper(run, function, assigned=(), updated=())
    return StructuredTool(
        name=tool.name,
        description=tool.description,
        args_schema=tool.args_schema or tool.get_input_schema(),
        return_direct=tool.return_direct,
        response_format=tool.response_format,
        tags=tool.tags,
        metadata=tool.metadata,
        func=run,
        coroutine=arun,
    )


def call(
    target: Target,
    arguments: dict[str, Any],
    env: ToolEnv | None = None,
    cancel: Cancel | None = None,
) -> Any:
    """The result of one call. `ToolFailure` for what the tool raised, for a process that died
    without a result, and for the time limit; all its processes are gone then."""
    env = env or current_env()
    workspace = replace(env.workspace, reads={}) if env.workspace else None
    request = Request(target, arguments, workspace, env.tool_timeout)
    reply = _exchange(_pickled(request), env.tool_timeout, cancel)
    if reply.failure is not None:
        code, message, next_step, details = reply.failure
        raise ToolFailure(code, message, next_step, **details)
    return reply.value


def _target(tool: BaseTool, function: Callable[..., Any] | None) -> Target:
    if function is None:
        return Target(tool=_pickled(tool))
    module, name = function.__module__, function.__qualname__
    main = getattr(sys.modules["__main__"], "__file__", None) if module == "__main__" else None
    if "<" in name or (module == "__main__" and main is None):
        raise HeadwayError(
            f"tool {tool.name}: isolated=True needs a function at the top of a module's file, "
            f"not {module}.{name}"
        )
    return Target(module, name, main=main)


def _pickled(value: Any) -> bytes:
    try:
        return pickle.dumps(value)
    except Exception as error:
        raise HeadwayError(
            f"an isolated tool and its arguments must pickle: {type(error).__name__}: {error}"
        ) from error


def _exchange(request: bytes, seconds: float, cancel: Cancel | None) -> Reply:
    with _memory_file(request) as given, _memory_file() as taken:
        start = f"import sys; sys.path[:] = {sys.path!r}; "
        process = subprocess.Popen(
            [
                sys.executable,
                "-c",
                f"{start}from headway_tools.isolated_child import serve; serve({taken})",
            ],
            stdin=given,
            stdout=2,
            pass_fds=(taken,),
            start_new_session=True,
        )
        try:
            ended = _wait(process.pid, seconds, cancel)
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            code = process.wait()
        os.lseek(taken, 0, os.SEEK_SET)
        with open(taken, "rb", closefd=False) as file:
            data = file.read()
    if ended != "exit":
        return _killed(ended, seconds)
    return pickle.loads(data) if data else _died(code)


@contextlib.contextmanager
def _memory_file(content: bytes = b"") -> Any:
    """A descriptor of an unnamed file in memory: no pipe that fills up, nothing on the disk."""
    descriptor = os.memfd_create("headway-tool")
    try:
        with open(descriptor, "wb", closefd=False) as file:
            file.write(content)
        os.lseek(descriptor, 0, os.SEEK_SET)
        yield descriptor
    finally:
        os.close(descriptor)


def _wait(pid: int, seconds: float, cancel: Cancel | None) -> str:
    """`exit`, `timeout` or `cancelled`, whichever comes first."""
    process = os.pidfd_open(pid)
    try:
        poll = select.poll()
        poll.register(process, select.POLLIN)
        if cancel is not None:
            poll.register(cancel.fileno(), select.POLLIN)
        ready = {descriptor for descriptor, _ in poll.poll(seconds * 1000)}
    finally:
        os.close(process)
    if not ready:
        return "timeout"
    return "exit" if process in ready else "cancelled"


def _killed(how: str, seconds: float) -> Reply:
    step = "check its effect before you repeat it"
    if how == "cancelled":
        return Reply(failure=("cancelled", "stopped from outside; it was killed", step, {}))
    return Reply(failure=("timeout", f"no result within {seconds:g} s; it was killed", step, {}))


def _died(code: int) -> Reply:
    end = f"was killed by {signal.Signals(-code).name}" if code < 0 else f"exited with {code}"
    return Reply(failure=("tool_error", f"the tool's process {end} without a result", "", {}))
