"""finish: the partial result, from what was established. It may ask whether to go on: the only
interrupt outside approve."""

from typing import Final

from langchain_core.messages import AIMessage
from langgraph.runtime import Runtime
from langgraph.types import interrupt

from headway.context import Context
from headway.history import closed, open_calls, place
from headway.notes import FIELD, from_headway
from headway.outcome import Outcome
from headway.parts import Parts, Update
from headway.report import as_state, outcome
from headway.state import State, Stop

NOT_RUN: Final = "the run ended before this call was executed"


def finish(state: State, runtime: Runtime[Context], *, parts: Parts) -> Update:
    """Close what is open, say in data why the run stopped, and what was established."""
    run = state["hw_run"]
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
    if parts.settings.on_stop == "ask" and stop["status"] in ("no_progress", "limit"):
        message = _ask(result)
        if message is not None:
            kept = {key: value for key, value in run.items() if key not in ("stop", "closing")}
            return {
                "messages": [*placed, from_headway(message)],
                "hw_run": kept,
                "hw_progress": {},
            }
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


def _ask(result: Outcome) -> str | None:
    """What a person says about going on; None ends the run."""
    answer = interrupt(
        {
            "question": "The run stopped. End it, or go on with a message?",
            "status": result.status,
            "limit": result.limit,
            "evidence": result.evidence,
            "choices": ["stop", "go_on"],
        }
    )
    if isinstance(answer, dict) and answer.get("type") == "go_on":
        return str(answer.get("message") or "Go on, in another way than before.")
    return None


def partial_text(result: Outcome) -> str:
    """The partial result as text: the status, the model's own last words, the facts."""
    head = f"Stopped: {result.status}" + (f" ({result.limit})" if result.limit else "")
    facts = "".join(f"\n- {fact}" for fact in result.established)
    parts = [
        head + (f". Missing: {result.missing}." if result.missing else "."),
        result.answer,
        f"Established:{facts}" if facts else "",
    ]
    return "\n\n".join(filter(None, parts))
