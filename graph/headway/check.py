"""The checks of an answer: its form, the caller's command, the caller's function."""

import inspect
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from headway.check_command import Command, check_command
from headway.context import CHECK_TIMEOUT
from headway.form import read_form
from headway.limits import Limits
from headway.outcome import CheckReport
from headway.parts import Parts
from headway.report import last_text
from headway.spending import seconds_left
from headway.state import State
from headway_tools.env import ToolEnv
from headway_tools.errors import HeadwayError
from headway_tools.sandbox import Cancel
from headway_tools.values import plain


@dataclass(frozen=True)
class CheckResult:
    """What the checks say. `report` is None where neither command nor function was asked."""

    report: CheckReport | None
    wrong_form: str = ""
    """What is wrong with a structured answer; nothing else was tried then."""
    structured: Any = None
    warnings: tuple[str, ...] = ()


def run_check(
    state: State, env: ToolEnv, parts: Parts, limits: Limits, cancel: Cancel | None = None
) -> CheckResult:
    """Form, command, function, in this order; the first that fails decides."""
    settings = parts.settings
    answer = last_text(state["messages"])
    structured = None
    if settings.response_format is not None:
        read = read_form(answer, settings.response_format)
        if isinstance(read, str):
            return CheckResult(None, wrong_form=read)
        structured = plain(read.model_dump(mode="json"))
    report: CheckReport | None = None
    warnings: list[str] = []
    if settings.check is not None:
        seconds = seconds_left(state.get("hw_run", {}), limits, CHECK_TIMEOUT)
        deadline = time.monotonic() + seconds
        command = Command(settings.check, env, deadline, settings.progress.counters, cancel)
        report, warnings = check_command(command, state)
    if settings.verify is not None and (report is None or report.passed):
        said = call_function(settings.verify, answer, env)
        report = said if report is None or not said.passed else report
    return CheckResult(report, structured=structured, warnings=tuple(warnings))


def files_left(state: State) -> str:
    """The snapshot of the workspace as this state left it: after a check with what the check
    itself left behind (caches, reports), which no tool call recorded."""
    check = state.get("hw_run", {}).get("check", {})
    files = state.get("hw_files", "")
    return check.get("left", files) if check.get("files") == files else files


def call_function(verify: Callable[..., Any], answer: str, env: ToolEnv) -> CheckReport:
    """`verify(answer, workspace)` → True, or False, or a sentence that says what is wrong, or a
    `CheckReport`. An exception in it is a fault of the caller's code and passes unchanged."""
    verdict = verify(answer, env.workspace.root if env.workspace else None)
    if inspect.isawaitable(verdict):
        getattr(verdict, "close", lambda: None)()
        raise HeadwayError("verify= must be an ordinary function, not an async one")
    if isinstance(verdict, CheckReport):
        return verdict
    wrong = verdict if isinstance(verdict, str) else "the answer was not accepted"
    return CheckReport(passed=verdict is True, output="" if verdict is True else wrong)


def said_of(report: CheckReport) -> str:
    """A red report for the model."""
    if not report.command:
        return f"The answer was checked and not accepted: {report.output}"
    end = "was ended" if report.exit_code is None else f"exit code {report.exit_code}"
    count = "" if report.count is None else f", {report.count} failures"
    return (
        f"You said that you are done, but the check `{report.command}` is red ({end}{count}):\n"
        f"{report.output}"
    )
