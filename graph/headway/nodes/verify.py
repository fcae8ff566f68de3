"""verify: a reply without calls is a candidate. The text first, then the caller's check, which
runs outside the model's reach. What it sends back is bounded, and so is how often.
"""

import asyncio
import time
from typing import Final

from langgraph.runtime import Runtime

from headway.check import CheckResult, run_check
from headway.context import Context
from headway.notes import from_headway
from headway.observe import bounded
from headway.parts import Parts, Update
from headway.protocol import CORRECTION
from headway.report import as_state, last_text, outcome
from headway.state import MIN_REMAINING, Check, Run, State, Stop
from headway.status import Status
from headway.steps import trace

PATIENCE: Final = {"empty": 2, "cut": 1, "printed_call": 1, "promise": 1, "refused": 0, "format": 2}
"""How often in a row a reply of this kind is sent back before the run ends."""

FLAT_ROUNDS: Final = 2
"""Checks without a new minimum of failures after which the run ends (`check_failed`)."""

SAID: Final = {
    "empty": "Your reply was empty. Call a tool, or give the final answer.",
    "cut": "Your reply was cut at the length limit. Give it again, shorter, or go on from its end.",
    "printed_call": "You wrote a tool call as text, so nothing ran. Make the call as a real tool "
    "call, or give the final answer.",
    "promise": "You said what you will do next but called no tool. Do it now with a tool call, or "
    "give the final answer.",
    "format": CORRECTION,
}


def verify(state: State, runtime: Runtime[Context], *, parts: Parts) -> Update:
    """Accept the candidate, send it back with what is wrong, or leave the end to finish."""
    update = _verdict(state, runtime, parts)
    run = update["hw_run"]
    if "outcome" in update or run.get("stop") or state["hw_remaining"] >= MIN_REMAINING:
        return update
    return {**update, "hw_run": {**run, "stop": Stop(status="limit", limit="steps")}}


def _verdict(state: State, runtime: Runtime[Context], parts: Parts) -> Update:
    rejected = _text(state)
    if rejected is not None:
        return rejected
    settings = parts.settings
    if settings.check is None and settings.verify is None and settings.response_format is None:
        return _accept(state, runtime, parts)
    started = time.monotonic()
    result = run_check(state, parts.env(state, runtime), parts, parts.limits(runtime))
    return _judge(state, runtime, parts, result, time.monotonic() - started)


async def averify(state: State, runtime: Runtime[Context], *, parts: Parts) -> Update:
    """`verify`, with the check off the event loop."""
    return await asyncio.to_thread(verify, state, runtime, parts=parts)


def _text(state: State) -> Update | None:
    """None for an acceptable text, else the update that sends it back or stops."""
    run = state["hw_run"]
    problem = run.get("reply", {}).get("problem")
    if problem is None:
        return None
    times = run.get("rejections", {}).get(problem, 0)
    if times >= PATIENCE[problem] or run.get("closing"):
        status: Status = "model_refused" if problem == "refused" else "invalid_answer"
        return {"hw_run": {**run, "stop": Stop(status=status, evidence={"problem": problem})}}
    return _send_back(run, problem, SAID[problem])


def _send_back(run: Run, problem: str, text: str) -> Update:
    counted = {**run.get("rejections", {}), problem: run.get("rejections", {}).get(problem, 0) + 1}
    return {"hw_run": {**run, "rejections": counted}, "messages": [from_headway(text)]}


def _judge(
    state: State, runtime: Runtime[Context], parts: Parts, result: CheckResult, seconds: float
) -> Update:
    history = _history(state["hw_run"].get("check", Check()), result, runtime)
    run: Run = {
        **state["hw_run"],
        "seconds": state["hw_run"].get("seconds", 0.0) + seconds,
        "check": history,
        "structured": result.structured,
    }
    judged: State = {**state, "hw_run": run}
    if result.report.passed:
        return _accept(judged, runtime, parts)
    if history.get("flat", 0) >= FLAT_ROUNDS or run.get("closing"):
        status: Status = "limit" if run.get("closing") else "check_failed"
        stop = Stop(status=status, limit=run.get("closing"), missing=result.missing)
        return {"hw_run": {**run, "stop": stop}}
    text = bounded(result.observation, "check", parts)
    return {"hw_run": run, "messages": [from_headway(text)]}


def _history(known: Check, result: CheckResult, runtime: Runtime[Context]) -> Check:
    """The check's rounds with this one; a new minimum of failures resets the flat ones."""
    report = result.report
    best = known.get("best", {})
    count = report.count
    improved = not best or (
        count is not None and (best.get("count") is None or count < best["count"])
    )
    info = runtime.execution_info
    here = {"checkpoint": info.checkpoint_id if info else None, "count": count}
    return Check(
        rounds=known.get("rounds", 0) + 1,
        flat=0 if improved else known.get("flat", 0) + 1,
        best=here if improved or report.passed else best,
        last=report.model_dump(mode="json"),
    )


def _accept(state: State, runtime: Runtime[Context], parts: Parts) -> Update:
    """The end. The kept last call, made while the model was still calling tools, answers a limit
    unless a check proves it."""
    run = state["hw_run"]
    limits = parts.limits(runtime)
    passed = run.get("check", {}).get("last", {}).get("passed") is True
    closing = run.get("closing")
    if closing and not passed and any(step.tool_call for step in trace(state["messages"])):
        return {"hw_run": {**run, "stop": Stop(status="limit", limit=closing)}}
    env = parts.env(state, runtime)
    result = outcome(state, status="completed", env=env, limits=limits)
    parts.environments.release(run.get("id", ""))
    return {
        "hw_run": run,
        "outcome": as_state(result.model_copy(update={"answer": last_text(state["messages"])})),
    }
