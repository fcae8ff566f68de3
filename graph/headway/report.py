"""The end of a run as facts from the tool log; the model's prose changes none of them."""

from collections.abc import Sequence
from typing import Final, cast

from langchain_core.messages import AIMessage, BaseMessage, ToolMessage

from headway.check_command import named
from headway.influence import runs_by_itself
from headway.limits import Limits
from headway.notes import is_human, meta
from headway.outcome import CheckReport, CommandRun, FileChange, Outcome, Usage
from headway.outside import gaps_of_run, others_paths, own_changes
from headway.state import Check, Run, State, Stop
from headway.status import Status
from headway.steps import result_of, trace
from headway.trace import StepTrace
from headway_tools.env import ToolEnv
from headway_tools.snapshots import Change

MOST_FACTS: Final = 30

INTERRUPTED: Final = "interrupted"
"""The code of a call that headway stopped in."""

MAY_HAVE_RUN: Final = "it may have run, in whole or in part"

STALE: Final = ", before the last change of files"


def outcome(
    state: State, *, status: Status, env: ToolEnv, limits: Limits, stop: Stop | None = None
) -> Outcome:
    """The outcome of the run in `state` that ends with `status`."""
    run = state.get("hw_run", {})
    messages = state.get("messages", [])
    stop = stop or Stop()
    start, gaps = run.get("files_at_start", ""), gaps_of_run(state)
    files = changed_files(own_changes(env.changes, start, gaps, state.get("hw_files", "")))
    commands = commands_run(messages)
    check = run.get("check", Check())
    report = CheckReport.model_validate(check["last"]) if check.get("last") else None
    stale = report is not None and check.get("files", "") != state.get("hw_files", "")
    limit = stop.get("limit")
    return Outcome(
        status=status,
        limit=limit,
        answer=last_text(messages),
        verified=verified(status, report),
        structured=run.get("structured"),
        thread=env.thread,
        workspace=str(env.workspace.path) if env.workspace else None,
        usage=usage(run),
        limits=limits.model_dump(),
        files=files,
        commands=commands,
        check=report,
        established=established(files, commands, report, stale=stale),
        missing=stop.get("missing", "") or missing(status, stop),
        next_step=next_step(status, stop),
        evidence=stop.get("evidence"),
        best=check.get("best"),
        warnings=[
            *unconfined(env),
            *shared(others_paths(env, gaps)),
            *run.get("warnings", []),
            *unproven(report),
        ],
    )


def missing(status: Status, stop: Stop) -> str:
    """What is not there yet; for a failed endpoint with what it said, for replies that were no
    answer with what was wrong with them."""
    found = stop.get("evidence") or {}
    text = MISSING[status].format(limit=stop.get("limit"))
    said = found.get("message") if status == "model_error" else None
    if status == "invalid_answer":
        said = NO_ANSWER.get(str(found.get("problem")))
    return f"{text} ({said})" if said else text


def next_step(status: Status, stop: Stop) -> str:
    """How to go on; for a failed endpoint by the kind of its failure."""
    found = stop.get("evidence") or {}
    if status != "model_error":
        return NEXT[status].format(limit=stop.get("limit"))
    kind = "cut" if found.get("billed") and found.get("kind") == "connection" else found.get("kind")
    step = NEXT_AFTER_FAILURE.get(str(kind), NEXT[status])
    wait = found.get("retry_after")
    return f"{step} (the server asks to wait {wait:g} s)" if wait else step


def verified(status: Status, report: CheckReport | None) -> bool | None:
    """True only for an accepted answer that the check proves; False for a red check."""
    if report is None:
        return None
    if not report.passed:
        return False
    return True if status == "completed" and not report.rests_on else None


def proven(check: Check) -> bool:
    """Whether the newest check is green, and not only with files that prove nothing."""
    last = check.get("last", {})
    return last.get("passed") is True and not last.get("rests_on")


def unconfined(env: ToolEnv) -> list[str]:
    """The warning about commands that nothing isolates."""
    if env.sandbox is None or env.sandbox.kind != "none":
        return []
    return ["no sandbox: commands ran as you, with all your files and the network"]


def shared(paths: Sequence[str]) -> list[str]:
    """The warning about files that somebody else changed during the run."""
    if not paths:
        return []
    return [f"changed by somebody else meanwhile, and no part of this run: {named(paths)}"]


def unproven(report: CheckReport | None) -> list[str]:
    """The warning about a green check that proves nothing."""
    if report is None or not report.rests_on:
        return []
    return [
        "the check is green only with files changed in this run that can decide it by themselves, "
        f"so it proves nothing: look at {', '.join(report.rests_on)}"
    ]


NO_ANSWER: Final = {
    "empty": "the replies were empty",
    "cut": "each reply was cut at the model's output limit",
    "printed_call": "tool calls were written as text, so they did not run",
    "promise": "the model only said what it would do",
    "format": "the replies did not have the form of the text protocol",
}
"""What was wrong with replies that `verify` sent back, by problem."""

MISSING: Final[dict[Status, str]] = {
    "completed": "",
    "invalid_answer": "an acceptable answer",
    "check_failed": "a green check",
    "model_refused": "an answer: the model or its filter declined",
    "no_progress": "new ground: the last rounds repeated what was known",
    "limit": "the rest of the work: the limit {limit} was reached first",
    "model_error": "a reply of the model",
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
    "model_error": "resume when the model works again; nothing is lost",
    "needs_approval": "resume with a decision",
    "cancelled": "resume to go on",
}

NEXT_AFTER_FAILURE: Final = {
    "connection": "is the server running, and OPENAI_BASE_URL its address? resume when it answers; "
    "nothing is lost",
    "cut": "the server answers, but its replies break off: look at its log, or at what stands "
    "between; resume when it is mended; nothing is lost",
    "timeout": "resume when the model answers in time, or with a larger model_timeout "
    "(--limit model_timeout=SECONDS); nothing is lost",
    "auth": "correct OPENAI_API_KEY (or --env-file) and resume; nothing is lost",
    "quota": "the account has no credit left: mend that and resume; nothing is lost",
    "invalid_request": "the request was refused: check --model, --model-arg and "
    "OPENAI_BASE_URL (it mostly ends with /v1), then resume; nothing is lost",
    "script_end": "give the script more replies, then resume; nothing is lost",
    "context_length": "resume with a model that has a larger window, or go on in a new thread",
}
"""By the kind of the failure (`headway.models.ModelFailure`); `cut` is a connection that ended in
the middle of a reply."""


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


def changed_files(changes: Sequence[Change]) -> list[FileChange]:
    """Changes as they are reported."""
    return [
        FileChange(
            path=change.path,
            kind="changed" if change.kind == "type" else change.kind,
            runs_by_itself=change.kind != "deleted" and runs_by_itself(change.path),
        )
        for change in changes
    ]


def commands_run(messages: Sequence[BaseMessage]) -> list[CommandRun]:
    """The shell commands of this run with their exit codes, oldest first."""
    steps = trace(messages)
    notes = {m.tool_call_id: meta(m) for m in messages if isinstance(m, ToolMessage)}
    last_change, files = -1, None
    found: list[tuple[int, str | None, CommandRun]] = []
    for index, step in enumerate(steps):
        if step.tool_call is None:
            continue
        note = notes.get(step.tool_call.id, {})
        if note.get("after") and note.get("before") != note["after"]:
            last_change, files = index, note["after"]
        if step.tool_call.name == "bash" and (run := _command(step)):
            found.append((index, note.get("after"), run))
    return [
        run.model_copy(update={"before_last_change": index < last_change and after != files})
        for index, after, run in found
    ]


def _command(step: StepTrace) -> CommandRun | None:
    """The command of a call of bash; None where it has not begun."""
    command = str(step.tool_call.args.get("command", "")) if step.tool_call else ""
    result = result_of(step)
    if INTERRUPTED in (result.get("error"), (step.observation or "").partition(":")[0]):
        return CommandRun(command=command, exit_code=None, why=MAY_HAVE_RUN)
    if not isinstance(result.get("exit_code", ""), int | None):
        return None
    return CommandRun(
        command=command,
        exit_code=result["exit_code"],
        timed_out=bool(result.get("timed_out")),
        why="" if result["exit_code"] is not None else str(result.get("note") or ""),
    )


def established(
    files: Sequence[FileChange],
    commands: Sequence[CommandRun],
    check: CheckReport | None,
    *,
    stale: bool = False,
) -> list[str]:
    """Facts, one sentence each, newest commands last; `stale`: files were changed after the
    check."""
    facts = [f"{change.path} was {_WORD[change.kind]}" for change in files]
    for run in commands:
        earlier = STALE if run.before_last_change else ""
        end = f"exited with {run.exit_code}"
        if run.exit_code is None:
            end = "timed out" if run.timed_out else run.why or "was stopped"
        facts.append(f"`{_one_line(run.command)}` {end}{earlier}")
    if check is not None:
        count = f" ({check.count} failures)" if check.count else ""
        colour = "green" if check.passed else f"red{count}"
        facts.append(f"the check is {colour}{STALE if stale else ''}")
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
