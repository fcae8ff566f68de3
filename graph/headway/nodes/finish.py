"""finish: the partial result, from what was established. It may ask whether to go on: the only
interrupt outside approve."""

from typing import Any, Final

from langchain_core.messages import AIMessage, BaseMessage, ToolCall
from langgraph.runtime import Runtime
from langgraph.types import interrupt

from headway.approvals import ASK_USER, question, read_answer
from headway.context import Context
from headway.history import closed, open_calls, place
from headway.notes import FIELD, from_headway
from headway.outcome import Outcome
from headway.parts import Parts, Update
from headway.report import as_state, outcome
from headway.state import Run, State, Stop

NOT_RUN: Final = "the run ended before this call was executed"

ASKED: Final = ("no_progress", "check_failed")
"""Where `on_stop="ask"` asks: more of the same is a person's decision. A limit is no question."""

ENDS: Final = frozenset(("", "n", "no", "stop", "end", "quit"))
"""Answers that end the run; any other is a message to the model."""


def finish(state: State, runtime: Runtime[Context], *, parts: Parts) -> Update:
    """Close what is open, say in data why the run stopped, and what was established."""
    run = state.get("hw_run", {})
    stop = run.get("stop") or Stop(status="limit", limit="steps")
    result = outcome(
        state,
        status=stop["status"],
        env=parts.env(state, runtime),
        limits=parts.limits(runtime),
        stop=stop,
    )
    open_ = open_calls(state.get("messages", []))
    answers = [closed(call, "not_run", NOT_RUN) for call in open_.calls]
    placed = place(state["messages"], answers) if answers else []
    if parts.settings.on_stop == "ask" and stop["status"] in ASKED:
        message = ask(result)
        if message.strip().lower() not in ENDS:
            return _go_on(run, placed, message)
    parts.environments.release(run.get("id", ""))
    note = {"status": result.status, "limit": result.limit, "partial": True}
    partial = AIMessage(partial_text(result), name=parts.name, response_metadata={FIELD: note})
    return {
        "messages": [*placed, partial],
        "outcome": as_state(result),
        "hw_run": {**run, "stop": stop},
        "hw_observations": [],
        "hw_decisions": {},
    }


def ask(result: Outcome) -> str:
    """What a person says about going on, asked in the shape of `ask_user` until the answer fits:
    a message to the model, or one of `ENDS`. A rejection ends the run, a bare string is taken."""
    text = f"Stopped: {result.status}. Missing: {result.missing}. Say how to go on, or 'stop'."
    call = ToolCall(name=ASK_USER, args={"question": text}, id="stop", type="tool_call")
    told = {"status": result.status, "evidence": result.evidence, "best": result.best}
    payload: dict[str, Any] = {**question([call]), **told}
    while True:
        answer = interrupt(payload)
        if isinstance(answer, str):
            return answer
        read = read_answer(answer, [call])
        if isinstance(read, dict):
            decision = read["stop"]
            return str(decision["message"]) if decision["type"] == "respond" else ""
        payload = {**payload, "error": read}


def _go_on(run: Run, placed: list[BaseMessage], message: str) -> Update:
    """Back to the model with the person's words: the counters continue, the detector and the
    check's patience start afresh."""
    kept = {key: value for key, value in run.items() if key not in ("stop", "closing")}
    again = {"check": {**run.get("check", {}), "flat": 0}, "rejections": {}}
    said = from_headway(f"The run had stopped. The user says: {message}")
    return {"messages": [*placed, said], "hw_run": {**kept, **again}, "hw_progress": {}}


ESTABLISHED: Final = "Established:"


def partial_text(result: Outcome) -> str:
    """The partial result as text: the status, the model's own last words, the facts."""
    head = f"Stopped: {result.status}" + (f" ({result.limit})" if result.limit else "")
    facts = "".join(f"\n- {fact}" for fact in result.established)
    parts = [
        head + (f". Missing: {result.missing}." if result.missing else "."),
        result.answer,
        f"{ESTABLISHED}{facts}" if facts else "",
    ]
    return "\n\n".join(filter(None, parts))
