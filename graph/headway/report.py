"""The end of a run as facts from the tool log; the model's prose changes none of them."""

from collections.abc import Sequence
from fnmatch import fnmatch
from pathlib import PurePosixPath
from typing import Final, cast

from langchain_core.messages import AIMessage, BaseMessage, ToolMessage

from headway.limits import Limits
from headway.notes import is_human, meta
from headway.outcome import CheckReport, CommandRun, FileChange, Outcome, Usage
from headway.state import Run, State, Stop
from headway.status import Status
from headway.steps import result_of, trace
from headway_tools.env import ToolEnv

RUN_BY_THEMSELVES: Final = (
    "conftest.py", "sitecustomize.py", "usercustomize.py", "*.pth", ".envrc", "package.json",
    ".vscode/tasks.json", ".vscode/settings.json", ".idea/*", ".git/hooks/*", ".git/config",
    ".gitattributes", ".husky/*", ".pre-commit-config.yaml", "setup.py", "noxfile.py", "Makefile",
    ".github/workflows/*", ".bashrc", ".profile", ".npmrc", "pytest.ini", "tox.ini",
)  # fmt: skip
"""Files that other tools execute or obey without being asked to."""

MOST_FACTS: Final = 30


def outcome(
    state: State, *, status: Status, env: ToolEnv, limits: Limits, stop: Stop | None = None
) -> Outcome:
    """The outcome of the run in `state` that ends with `status`."""
    run = state.get("hw_run", {})
    messages = state.get("messages", [])
    stop = stop or Stop()
    files = changed_files(env, run.get("files_at_start", ""), state.get("hw_files", ""))
    commands = commands_run(messages)
    check = run.get("check", {})
    report = CheckReport.model_validate(check["last"]) if check.get("last") else None
    limit = stop.get("limit")
    return Outcome(
        status=status,
        limit=limit,
        answer=last_text(messages),
        verified=report.passed if report else None,
        structured=run.get("structured"),
        workspace=str(env.workspace.path) if env.workspace else None,
        usage=usage(run),
        limits=limits.model_dump(),
        files=files,
        commands=commands,
        check=report,
        established=established(files, commands, report),
        missing=stop.get("missing", "") or MISSING[status].format(limit=limit),
        next_step=NEXT[status].format(limit=limit),
        evidence=stop.get("evidence"),
        best=check.get("best"),
        warnings=run.get("warnings", []),
    )


MISSING: Final[dict[Status, str]] = {
    "completed": "",
    "invalid_answer": "an acceptable answer",
    "check_failed": "a green check",
    "model_refused": "an answer: the model or its filter declined",
    "no_progress": "new ground: the last rounds repeated what was known",
    "limit": "the rest of the work: the limit {limit} was reached first",
    "model_error": "a reply: the model could not be reached or refused the request",
    "needs_approval": "a person's decision",
    "cancelled": "the rest of the work: the run was stopped",
}

NEXT: Final[dict[Status, str]] = {
    "completed": "",
    "invalid_answer": "go on with a message, or another model",
    "check_failed": "look at the check's output, go on with a hint, or go back to the best state",
    "model_refused": "rephrase the task, or use another model",
    "no_progress": "go on with a message that says what to try, or go back a few steps",
    "limit": "resume with a raised limit ({limit}), or go on with a message",
    "model_error": "resume when the endpoint works again; nothing is lost",
    "needs_approval": "resume with a decision",
    "cancelled": "resume to go on",
}


def usage(run: Run) -> Usage:
    """The counters of `run` as they are reported."""
    known = {name: run[name] for name in Usage.model_fields if name in run}  # type: ignore[literal-required]
    if not run.get("model_calls"):
        known["cost"] = None
    return Usage.model_validate({"cost": None, **known})


def last_text(messages: Sequence[BaseMessage]) -> str:
    """The newest text that the model wrote in this run; headway's own partial results do not
    count."""
    for message in reversed(messages):
        if is_human(message):
            return ""
        if isinstance(message, AIMessage) and not meta(message).get("partial") and message.text:
            return str(message.text).strip()
    return ""


def changed_files(env: ToolEnv, before: str, after: str) -> list[FileChange]:
    """What differs between two snapshots."""
    return [
        FileChange(
            path=change.path,
            kind="changed" if change.kind == "type" else change.kind,
            runs_by_itself=change.kind != "deleted" and runs_by_itself(change.path),
        )
        for change in env.changes(before, after)
    ]


def runs_by_itself(path: str) -> bool:
    """True for files that tools execute or obey unasked."""
    name = PurePosixPath(path).name
    return any(
        fnmatch(path, pattern) or fnmatch(path, f"*/{pattern}") or fnmatch(name, pattern)
        for pattern in RUN_BY_THEMSELVES
    )


def commands_run(messages: Sequence[BaseMessage]) -> list[CommandRun]:
    """The shell commands of this run with their exit codes, oldest first."""
    steps = trace(messages)
    notes = {m.tool_call_id: meta(m) for m in messages if isinstance(m, ToolMessage)}
    last_change = -1
    found: list[tuple[int, CommandRun]] = []
    for index, step in enumerate(steps):
        if step.tool_call is None:
            continue
        note = notes.get(step.tool_call.id, {})
        changed = note.get("before") != note.get("after")
        if changed:
            last_change = index
        result = result_of(step)
        if step.tool_call.name == "bash" and "exit_code" in result:
            run = CommandRun(
                command=str(step.tool_call.args.get("command", "")),
                exit_code=result["exit_code"],
                timed_out=bool(result.get("timed_out")),
            )
            found.append((index, run))
    return [
        run.model_copy(update={"before_last_change": index < last_change}) for index, run in found
    ]


def established(
    files: Sequence[FileChange], commands: Sequence[CommandRun], check: CheckReport | None
) -> list[str]:
    """Facts, one sentence each, newest commands last."""
    facts = [f"{change.path} was {_WORD[change.kind]}" for change in files]
    for run in commands:
        stale = ", before the last change of files" if run.before_last_change else ""
        end = "timed out" if run.timed_out else f"exited with {run.exit_code}"
        facts.append(f"`{_one_line(run.command)}` {end}{stale}")
    if check is not None:
        count = f" ({check.count} failures)" if check.count else ""
        facts.append(f"the check is {'green' if check.passed else 'red' + count}")
    return facts[-MOST_FACTS:]


_WORD: Final = {
    "added": "added", "changed": "changed", "deleted": "deleted", "mode": "given another mode",
    "links": "linked otherwise",
}  # fmt: skip


def _one_line(command: str) -> str:
    first = command.strip().splitlines()[0] if command.strip() else ""
    return first if first == command.strip() and len(first) <= 120 else f"{first[:117]}…"


def as_state(result: Outcome) -> dict[str, object]:
    """The outcome as it stands in graph state: plain data, without steps."""
    return cast(dict[str, object], result.model_dump(mode="json", exclude={"steps"}))
