"""truncate: the only door by which observations enter the history, bounded and in order."""

from typing import Any

from langchain_core.messages import BaseMessage, ToolMessage, messages_from_dict
from langgraph.runtime import Runtime

from headway.context import Context
from headway.history import NO_OUTPUT, open_calls, place
from headway.notes import AUTHOR, FIELD, annotate, meta
from headway.observe import note_on, texts
from headway.parts import Parts, Update
from headway.spending import left
from headway.state import State
from headway.validity import is_blank
from headway_tools.errors import ToolFailure
from headway_tools.results import observation


def truncate(state: State, runtime: Runtime[Context], *, parts: Parts) -> Update:
    """Write the bounded observations behind their calls; the last one carries what progress has
    to say, what was left out of the reply, and what is left of the budget."""
    observations = state.get("hw_observations", [])
    by_call = {o["call"]: o for o in observations if "call" in o}
    seen = texts(observations, parts.env(state, runtime), parts)
    answers: list[ToolMessage] = []
    message, calls, _ = open_calls(state["messages"])
    for call in calls:
        known = by_call.get(call["id"] or "")
        answers.append(
            ToolMessage(
                seen[known["call"]] if known else _lost(),
                name=call["name"],
                tool_call_id=call["id"],
                status=known["status"] if known else "error",
                response_metadata={FIELD: note_on(known)} if known else {},
            )
        )
    for answer in filter(is_blank, answers):
        answer.content = NO_OUTPUT
    if answers:
        advice = (state.get("hw_verdict") or {}).get("advice", "")
        budget = left(state.get("hw_run", {}), parts.limits(runtime))
        remarks = (f"{remark}." for remark in meta(message).get("remarks", [])) if message else ()
        answers[-1].content = annotate(
            answers[-1].content, " ".join(filter(None, (*remarks, advice, budget)))
        )
    extra = [_message(o["extra"]) for o in observations if "extra" in o]
    return {
        "messages": [*place(state["messages"], answers), *extra],
        "hw_observations": [],
        "hw_decisions": {},
        "hw_verdict": {},
    }


def _lost() -> str:
    failure = ToolFailure(
        "interrupted", "no result was recorded; it may or may not have run", "look before repeating"
    )
    return observation(failure.as_result())


def _message(data: dict[str, Any]) -> BaseMessage:
    """A tool's own message beside its answer (a picture): no person's, and it calls nothing."""
    changes: dict[str, Any] = {}
    if data["type"] == "human":
        changes = {"name": AUTHOR}
    elif data["type"] == "ai":
        changes = {"tool_calls": [], "invalid_tool_calls": []}
    return messages_from_dict([{"type": data["type"], "data": {**data, **changes}}])[0]
