"""The `bash` tool: one command in the sandbox, and exactly how it ended."""

from typing import Final

from langchain_core.tools import BaseTool, StructuredTool
from pydantic import BaseModel, ConfigDict, Field

from headway_tools.env import ToolEnv, current_env
from headway_tools.errors import HeadwayError, SandboxError, ToolFailure
from headway_tools.kinds import declare
from headway_tools.results import told
from headway_tools.sandbox import Cancel, CommandResult, Sandbox, run_in_thread

_DESCRIPTION: Final = """\
Run a bash command in the workspace. Each call is a new shell that starts at the workspace's top: \
cd, variables and background processes do not last; files do, also those in /tmp and $HOME. \
stdin is empty and there is no terminal, so nothing can ask you. \
Usually there is no network; outside the workspace nothing can be changed, and protected paths \
are read-only. `ok` says that the command ran; `exit_code` is how it ended, `stages` the codes of \
a pipeline with a failing stage. Time, memory and output are limited; \
at a time-out you get what was printed so far."""


class BashArguments(BaseModel):
    """Arguments of `bash`."""

    model_config = ConfigDict(extra="forbid")

    command: str = Field(description="The command, as for `bash -c`.", min_length=1)
    timeout: float | None = Field(
        default=None, gt=0, description="Seconds; the run's limit holds if it is lower."
    )


def bash_tool() -> BaseTool:
    """The tool named `bash`; it runs in the sandbox of the current `ToolEnv`."""
    tool = StructuredTool(
        name="bash",
        description=_DESCRIPTION,
        args_schema=BashArguments,
        func=_run,
        coroutine=_arun,
    )
    return declare(tool, "write", own=True)


def describe(result: CommandResult, seconds: float) -> dict[str, object]:
    """The observation of `result`, for a command that had `seconds`."""
    told: dict[str, object] = {
        "ok": not result.repaired,
        "exit_code": result.exit_code,
        "stdout": result.stdout,
        "stderr": result.stderr,
        "truncated": result.truncated,
        "timed_out": result.timed_out,
    }
    if result.stages:
        told["stages"] = list(result.stages)
    if result.signal and result.exit_code is not None:
        told["signal"] = result.signal
    if notes := _notes(result, seconds):
        told["note"] = "; ".join(notes)
    if result.repaired:
        told |= {"error": "protected", "protected": list(result.repaired)}
        told["message"] = "the command changed protected paths"
        told["next_step"] = "leave protected paths as they are; the changes to them were undone"
    return told


def _run(command: str, timeout: float | None = None) -> str:
    sandbox, seconds = _prepare(command, timeout)
    return _observe(sandbox, command, seconds, None)


async def _arun(command: str, timeout: float | None = None) -> str:  # noqa: ASYNC109 (an argument of the model)
    sandbox, seconds = _prepare(command, timeout)
    return await run_in_thread(lambda cancel: _observe(sandbox, command, seconds, cancel))


def _prepare(command: str, timeout: float | None) -> tuple[Sandbox, float]:
    env: ToolEnv = current_env()
    if env.sandbox is None:
        raise HeadwayError("this agent has no sandbox: pass workspace= to build_agent")
    return env.sandbox, min(timeout or env.tool_timeout, env.tool_timeout)


def _observe(sandbox: Sandbox, command: str, seconds: float, cancel: Cancel | None) -> str:
    try:
        result = sandbox.run(command, timeout=seconds, cancel=cancel)
    except ValueError as error:
        raise ToolFailure("invalid_arguments", str(error), "send another command") from error
    except SandboxError as error:
        raise ToolFailure(
            "sandbox_failed", str(error), "this says nothing about the command; try it once more"
        ) from error
    return told(describe(result, seconds))


def _notes(result: CommandResult, seconds: float) -> list[str]:
    notes = []
    if result.timed_out:
        notes.append(f"ended after {seconds:g} s; stdout and stderr are what was printed so far")
    if result.cancelled:
        notes.append("cancelled")
    if result.flooded:
        notes.append("ended because it printed too much")
    if result.omitted:
        notes.append(f"{result.omitted} bytes in the middle of the output were not kept")
    if result.background:
        notes.append("background processes were ended when the shell returned")
    if not (result.stdout or result.stderr or notes):
        notes.append("no output")
    return notes
