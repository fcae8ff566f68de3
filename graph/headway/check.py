"""The checks of an answer: its form, the caller's command, the caller's function.

The command runs in a fresh sandbox, with the protected files' own bytes, outside the model's
reach. A green result that hangs on files which tools run by themselves (a planted conftest.py,
a module that shadows the standard library) is tried again without them.
"""

import shutil
import sys
import tempfile
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath
from typing import Any

from pydantic import BaseModel, ValidationError

from headway.context import CHECK_TIMEOUT
from headway.limits import Limits
from headway.outcome import CheckReport
from headway.parts import Parts
from headway.progress import best_count
from headway.report import last_text, runs_by_itself
from headway.spending import seconds_left
from headway.state import State
from headway_tools.env import ToolEnv
from headway_tools.errors import HeadwayError, SandboxError
from headway_tools.sandbox import CommandResult, SandboxPolicy, open_sandbox


@dataclass(frozen=True)
class CheckResult:
    """What the checks say: a report, the text for the model, the answer as data."""

    report: CheckReport
    observation: str
    missing: str = "a green check"
    structured: Any = None


def run_check(state: State, env: ToolEnv, parts: Parts, limits: Limits) -> CheckResult:
    """Form, command, function, in this order; the first that fails decides."""
    settings = parts.settings
    answer = last_text(state["messages"])
    structured = None
    if settings.response_format is not None:
        parsed = read_format(answer, settings.response_format)
        if isinstance(parsed, str):
            report = CheckReport(passed=False, output=parsed)
            return CheckResult(report, parsed, missing="an answer in the asked form")
        structured = parsed.model_dump(mode="json")
    report = CheckReport(passed=True)
    if settings.check is not None:
        timeout = seconds_left(state["hw_run"], limits, CHECK_TIMEOUT)
        report = check_command(settings.check, state, env, timeout)
    if report.passed and settings.verify is not None:
        report = _call(settings.verify, answer, env)
    return CheckResult(report, _say(report), structured=structured)


def read_format(answer: str, schema: type[BaseModel]) -> BaseModel | str:
    """The answer as `schema`, from plain JSON or one fenced block; or what is wrong with it."""
    text = answer.strip()
    if text.startswith("```"):
        text = text.strip("`").removeprefix("json").strip()
    try:
        return schema.model_validate_json(text)
    except ValidationError as error:
        problems = "; ".join(
            f"{'.'.join(map(str, e['loc'])) or 'answer'}: {e['msg']}" for e in error.errors()[:5]
        )
        return (
            f"The final answer must be one JSON object of this schema, nothing else: {problems}. "
            f"Schema: {schema.model_json_schema()}"
        )


def check_command(command: str, state: State, env: ToolEnv, timeout: float) -> CheckReport:
    """Run the caller's command; raises `HeadwayError` where there is nothing to run it in."""
    if env.sandbox is None or env.workspace is None:
        raise HeadwayError("a check needs a workspace: pass workspace= (or -C)")
    report = _report(command, _run(command, env, env.workspace.root, timeout), env)
    suspects = planted(state, env) if report.passed else []
    if not suspects or env.snapshots is None:
        return report
    with tempfile.TemporaryDirectory(prefix="headway-check-") as folder:
        root = Path(folder) / "workspace"
        env.snapshots.extract(
            env.snapshots.take(env.workspace.root), root, original=env.workspace.root
        )
        for path in suspects:
            (root / path).unlink(missing_ok=True)
        again = _report(command, _run(command, env, root, timeout), env)
    if again.passed:
        return report
    names = ", ".join(suspects)
    return again.model_copy(
        update={
            "output": f"The check is green only with files that run by themselves ({names}); "
            f"without them it fails:\n{again.output}"
        }
    )


def planted(state: State, env: ToolEnv) -> list[str]:
    """Files added in this run that other programs load unasked, or that shadow a module of
    Python's standard library at the workspace's top."""
    start = state["hw_run"].get("files_at_start", "")
    if env.snapshots is None or env.workspace is None or not start:
        return []
    added = [
        change.path
        for change in env.changes(start, env.snapshots.take(env.workspace.root))
        if change.kind == "added"
    ]
    return [path for path in added if runs_by_itself(path) or _shadows(path)]


def _shadows(path: str) -> bool:
    top = PurePosixPath(path).parts[0]
    return top.removesuffix(".py") in sys.stdlib_module_names


def _run(command: str, env: ToolEnv, root: Path, timeout: float) -> CommandResult:
    """In a fresh private home, so that nothing an earlier command left there takes part."""
    assert env.sandbox is not None
    private = Path(tempfile.mkdtemp(prefix="headway-check-"))
    try:
        policy: SandboxPolicy = replace(env.sandbox.policy, private=private, root=root)
        return open_sandbox(policy, env.sandbox.kind).run(command, timeout=timeout)
    except SandboxError as error:
        raise HeadwayError(f"the check could not be run: {error}") from error
    finally:
        shutil.rmtree(private, ignore_errors=True)


def _report(command: str, result: CommandResult, env: ToolEnv) -> CheckReport:
    output = "\n".join(filter(None, (result.stdout.strip(), result.stderr.strip())))
    if result.timed_out:
        output += "\n(the check did not end in time)"
    passed = result.exit_code == 0 and not result.timed_out
    return CheckReport(
        passed=passed,
        command=command,
        exit_code=result.exit_code,
        count=0 if passed else best_count(output),
        output=_tail(env.mask(output)),
    )


def _tail(output: str, most: int = 8000) -> str:
    return output if len(output) <= most else f"…\n{output[-most:]}"


def _call(verify: Any, answer: str, env: ToolEnv) -> CheckReport:
    """`verify(answer, workspace)` → True, or False, or a sentence that says what is wrong."""
    verdict = verify(answer, env.workspace.root if env.workspace else None)
    if isinstance(verdict, CheckReport):
        return verdict
    wrong = verdict if isinstance(verdict, str) else "the answer was not accepted"
    return CheckReport(passed=verdict is True, output="" if verdict is True else wrong)


def _say(report: CheckReport) -> str:
    if report.passed:
        return ""
    if not report.command:
        return report.output
    count = "" if report.count is None else f", {report.count} failures"
    return (
        f"You said you are done, but the check `{report.command}` is red "
        f"(exit code {report.exit_code}{count}):\n{report.output}"
    )
