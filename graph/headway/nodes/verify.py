"""verify: a reply without calls is a candidate. The text first, then the caller's check, which
runs outside the model's reach. What it sends back is bounded, and so is how often.
"""

import time
from collections.abc import Sequence
from contextlib import nullcontext
from typing import Any, Final

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage
from langgraph.runtime import Runtime

from headway.check import CheckResult, files_left, run_check, said_of
from headway.context import Context
from headway.notes import from_headway
from headway.observe import bounded
from headway.outcome import CheckReport
from headway.outside import fewer, gap
from headway.parts import Parts, Update
from headway.progress import Round, Verdict, detect
from headway.protocol import CORRECTION
from headway.report import as_state, last_text, outcome, proven
from headway.spending import seconds_left
from headway.state import MIN_REMAINING, Check, Gap, Run, State, Stop
from headway.status import Status
from headway.steps import trace
from headway.truncation import TruncationLimits
from headway_tools.env import ToolEnv
from headway_tools.journal import CallStatus
from headway_tools.sandbox import Cancel, run_in_thread
from headway_tools.turns import TURN_SECONDS, Turn, Turns

PATIENCE: Final = {
    "empty": 2, "cut": 1, "printed_call": 1, "promise": 1, "refused": 0, "format": 2, "schema": 2,
}  # fmt: skip
"""How often in a row, no tool called in between, a reply of this kind is sent back before the run
ends."""

CHECK: Final = "check"
"""Name of the check among the results of the journal."""

KEPT: Final = TruncationLimits(characters=2_000, lines=60)
"""Of a check's output, in the report that every later checkpoint holds; the journal holds all."""

SAID: Final = {
    "empty": "Your reply was empty. Call a tool, or give the final answer.",
    "cut": "Your reply was cut at the length limit. Give it again, shorter, or go on from its end.",
    "printed_call": "You wrote a tool call as text, so nothing ran. Make the call as a real tool "
    "call, or give the final answer.",
    "promise": "You said what you will do next but called no tool. Do it now with a tool call, or "
    "give the final answer.",
    "format": CORRECTION,
}


def verify(
    state: State, runtime: Runtime[Context], *, parts: Parts, cancel: Cancel | None = None
) -> Update:
    """Accept the candidate, send it back with what is wrong, or leave the end to finish."""
    update = _judge(state, runtime, parts, cancel)
    run = update["hw_run"]
    if "outcome" in update or run.get("stop") or state["hw_remaining"] >= MIN_REMAINING:
        return update
    return {**update, "hw_run": {**run, "stop": Stop(status="limit", limit="steps")}}


async def averify(state: State, runtime: Runtime[Context], *, parts: Parts) -> Update:
    """`verify`, with the check off the event loop; cancelling ends the check's processes."""
    turns, seconds = _turns(state, runtime, parts)
    async with turns.atake(seconds) if turns else nullcontext():
        return await run_in_thread(
            lambda cancel: verify(state, runtime, parts=parts, cancel=cancel)
        )


def _judge(state: State, runtime: Runtime[Context], parts: Parts, cancel: Cancel | None) -> Update:
    problem = state.get("hw_run", {}).get("reply", {}).get("problem")
    if problem is not None:
        return _reject(state, parts, problem, SAID.get(problem, ""))
    settings = parts.settings
    if settings.check is None and settings.verify is None and settings.response_format is None:
        return _accept(state, runtime, parts)
    started, env = time.monotonic(), parts.env(state, runtime)
    turns, seconds = _turns(state, runtime, parts)
    with turns.take(seconds) if turns else nullcontext() as turn:
        gaps = _begin(state, runtime, env, turn) if turn else []
        result = run_check(state, env, parts, parts.limits(runtime), cancel)
        left = env.files_now() if turn else ""
    first = state.get("hw_run", {}).get("outside_at_start", 0)
    outside = fewer([*state.get("hw_outside", []), *gaps], first)
    found: State = {**state, "hw_outside": outside}
    update = _weigh(found, runtime, parts, result, left, time.monotonic() - started)
    return {**update, "hw_outside": outside} if gaps else update


def _turns(state: State, runtime: Runtime[Context], parts: Parts) -> tuple[Turns | None, float]:
    """Where a check waits, so that what it leaves behind is its own, and how long at most."""
    if parts.settings.check is None and parts.settings.verify is None:
        return None, 0
    seconds = seconds_left(state.get("hw_run", {}), parts.limits(runtime), TURN_SECONDS)
    return parts.env(state, runtime).turns, seconds


def _begin(state: State, runtime: Runtime[Context], env: ToolEnv, turn: Turn) -> list[Gap]:
    """Note that the check begins; what others changed since the last call. Where the check began
    before and was killed, that is what it left behind, unless somebody else was at work since."""
    key, now = _key(runtime), env.files_now()
    killed = env.journal.lookup(key) is not None
    turn.sign()
    env.journal.start(key, call="", name=CHECK, before=now or None)
    return [] if killed and turn.undisturbed else gap(env, files_left(state), now)


def _key(runtime: Runtime[Context]) -> str:
    """The check's in the journal."""
    info = runtime.execution_info
    return f"{info.task_id if info else ''}/check"


def _weigh(
    state: State,
    runtime: Runtime[Context],
    parts: Parts,
    result: CheckResult,
    left: str,
    seconds: float,
) -> Update:
    """What comes of a check that took `seconds` and left the workspace as in `left`."""
    before = state.get("hw_run", {})
    run: Run = {
        **before,
        "seconds": before.get("seconds", 0.0) + seconds,
        "structured": result.structured,
        "warnings": _with(before.get("warnings", []), result.warnings),
    }
    checked: State = {**state, "hw_run": run}
    if result.wrong_form:
        return _reject(checked, parts, "schema", bounded(result.wrong_form, CHECK, parts))
    if result.report is None:
        return _accept(checked, runtime, parts)
    whole = _record(result.report, state, runtime, parts)
    kept = _brief(result.report, whole, parts, KEPT)
    run["check"] = history(run.get("check", Check()), kept, state, runtime)
    if left:
        run["check"]["left"] = left
    if kept.passed:
        return _accept(checked, runtime, parts)
    return _red(checked, parts, _brief(result.report, whole, parts))


def _record(report: CheckReport, state: State, runtime: Runtime[Context], parts: Parts) -> str:
    """The id by which the journal holds the output; "" for one that the report holds whole."""
    if _brief(report, "", parts, KEPT) == report:
        return ""
    journal, key = parts.env(state, runtime).journal, _key(runtime)
    journal.forget(key)  # of an attempt that was killed: the check has run again since
    status: CallStatus = "success" if report.passed else "error"
    ref = journal.finish(key, call="", name=CHECK, status=status, content=report.output)
    return ref["output"]


def _brief(
    report: CheckReport, whole: str, parts: Parts, limits: TruncationLimits | None = None
) -> CheckReport:
    shown = bounded(report.output, CHECK, parts, output=whole, limits=limits)
    return report.model_copy(update={"output": shown})


def _reject(state: State, parts: Parts, problem: str, text: str) -> Update:
    """Send a text back, or end the run where that was done often enough."""
    run = state.get("hw_run", {})
    earlier = {} if acted(state["messages"]) else run.get("rejections", {})
    memory, verdict = detect(state.get("hw_progress", {}), Round(), parts.settings.progress)
    update: Update = {"hw_progress": memory}
    if problem == "refused" or not run.get("closing"):
        status: Status = "model_refused" if problem == "refused" else "invalid_answer"
        stop = Stop(status=status, evidence={"problem": problem, **verdict.evidence})
    else:
        stop = Stop(status="limit", limit=run["closing"])
    if problem == "schema":
        stop["missing"] = "an answer in the asked form"
    over = earlier.get(problem, 0) >= PATIENCE[problem] or verdict.level == "stop"
    if over or run.get("closing"):
        return {**update, "hw_run": {**run, "stop": stop}}
    counted = {**earlier, problem: earlier.get(problem, 0) + 1}
    note = from_headway("\n\n".join(filter(None, (text, verdict.advice))))
    return {**update, "hw_run": {**run, "rejections": counted}, "messages": [note]}


def acted(messages: Sequence[BaseMessage]) -> bool:
    """Whether a tool was called since the newest user message, headway's own included."""
    for message in reversed(messages):
        if isinstance(message, HumanMessage):
            return False
        if isinstance(message, AIMessage) and message.tool_calls:
            return True
    return False


def _red(state: State, parts: Parts, report: CheckReport) -> Update:
    """Send a red check back with its output, or end the run: at a limit, or after as many
    evaluations without a new minimum of failures as a declared counter has."""
    run = state.get("hw_run", {})
    memory, verdict = _told(state, report, parts)
    update: Update = {"hw_progress": memory}
    closing = run.get("closing")
    if closing or run["check"]["flat"] >= parts.settings.progress.flat_declared.stop:
        stop = Stop(status="limit" if closing else "check_failed", limit=closing)
        stop["missing"] = "a green check" if report.command else "an accepted answer"
        if not closing:
            stop["evidence"] = _evidence(run["check"], verdict)
        return {**update, "hw_run": {**run, "stop": stop}}
    note = from_headway("\n\n".join(filter(None, (said_of(report), verdict.advice))))
    return {**update, "hw_run": run, "messages": [note]}


def _told(state: State, report: CheckReport, parts: Parts) -> tuple[dict[str, Any], Verdict]:
    """The detector's view: the count as a declared counter; a red check without one is a reply
    that called nothing. Its verdict adds advice, the end of the run is decided here."""
    memory = state.get("hw_progress", {})
    if report.count is None:
        return detect(memory, Round(), parts.settings.progress)
    round_ = Round(counter=float(report.count), counter_source="declared")
    return detect(memory, round_, parts.settings.progress)


def _evidence(check: Check, verdict: Verdict) -> dict[str, Any]:
    counts = verdict.evidence.get("counter")
    found: dict[str, Any] = {"rule": "counter", "times": check["flat"]}
    return {**found, "counter": counts} if counts else found


def history(known: Check, report: CheckReport, state: State, runtime: Runtime[Context]) -> Check:
    """The check's rounds with this one; a new minimum of failures resets the flat ones.

    `best` is the state that this evaluation saw, by the checkpoint that holds it: of two without
    a count the later one.
    """
    best, count = known.get("best", {}), report.count
    least = best.get("count")
    improved = not best or (count is not None and (least is None or count < least))
    info = runtime.execution_info
    here = {"checkpoint": info.checkpoint_id if info else None, "count": count}
    better = improved or report.passed or (count is None and least is None)
    return Check(
        rounds=known.get("rounds", 0) + 1,
        flat=0 if improved else known.get("flat", 0) + 1,
        best=here if better else best,
        last=report.model_dump(mode="json"),
        files=state.get("hw_files", ""),
    )


def _with(known: Sequence[str], new: Sequence[str]) -> list[str]:
    return list(dict.fromkeys((*known, *new)))


def _accept(state: State, runtime: Runtime[Context], parts: Parts) -> Update:
    """The end. The kept last call, made while the model was still calling tools, answers a limit
    unless a check proves it."""
    run = state.get("hw_run", {})
    limits = parts.limits(runtime)
    closing = run.get("closing")
    called = any(step.tool_call for step in trace(state["messages"]))
    if closing and called and not proven(run.get("check", {})):
        return {"hw_run": {**run, "stop": Stop(status="limit", limit=closing)}}
    env = parts.env(state, runtime)
    result = outcome(state, status="completed", env=env, limits=limits)
    parts.environments.release(run.get("id", ""))
    return {
        "hw_run": run,
        "outcome": as_state(result.model_copy(update={"answer": last_text(state["messages"])})),
    }
