"""approve: a person decides about calls, before any side effect."""

import json
from collections.abc import Sequence
from typing import Any, Final

from langchain_core.messages import AIMessage, BaseMessage, ToolCall, ToolMessage
from langgraph.runtime import Runtime
from langgraph.types import interrupt

from headway.approvals import Decision, question, read_answer
from headway.context import Context
from headway.history import open_calls
from headway.notes import FIELD, is_human, meta
from headway.parts import Parts, Update
from headway.state import State, Stop

MOST_REJECTIONS: Final = 3
"""Of one call in a run: then the run ends, instead of asking once more (deepagents#2946)."""

MOST_SHOWN: Final = 500
"""Characters of a call's arguments in a remark about it."""


def approve(state: State, runtime: Runtime[Context], *, parts: Parts) -> Update:
    """Ask until the answer fits the question; an edited call replaces the model's own, by id."""
    pending, run = open_calls(state["messages"]), state.get("hw_run", {})
    asked = [call for call in pending.calls if call["id"] in run.get("ask", [])]
    if not asked or pending.message is None:
        return {"hw_decisions": {}}
    payload = question(asked)
    while isinstance(read := read_answer(interrupt(payload), asked, parts.declared), str):
        payload = question(asked, error=read)
    update: Update = {"hw_decisions": read}
    if any(decision["type"] == "edit" for decision in read.values()):
        update["messages"] = [edited(pending.message, read)]
    refused = [call for call in asked if read[call["id"] or ""]["type"] == "reject"]
    if stop := too_often(state["messages"], refused):
        update["hw_run"] = {**run, "stop": stop}
    return update


def edited(message: AIMessage, decisions: dict[str, Decision]) -> AIMessage:
    """The reply with the calls that a person wrote, and a remark about each for the model."""
    calls: list[ToolCall] = []
    remarks: list[str] = []
    for call in message.tool_calls:
        decision = decisions.get(call["id"] or "", {})
        if decision.get("type") == "edit":
            action = decision["edited_action"]
            new = ToolCall(
                name=action["name"], args=dict(action["args"]), id=call["id"], type="tool_call"
            )
            remarks.append(
                f"a person changed a call before it ran: you wrote {_shown(call)}, "
                f"what ran is {_shown(new)}"
            )
            call = new
        calls.append(call)
    notes = {**meta(message), "remarks": [*meta(message).get("remarks", []), *remarks]}
    return message.model_copy(
        update={
            "tool_calls": calls,
            "response_metadata": {**message.response_metadata, FIELD: notes},
        }
    )


def _shown(call: ToolCall) -> str:
    text = json.dumps(call["args"], ensure_ascii=False, default=str)
    return f"{call['name']} {text if len(text) <= MOST_SHOWN else text[:MOST_SHOWN] + '…'}"


def too_often(messages: Sequence[BaseMessage], refused: Sequence[ToolCall]) -> Stop | None:
    """The end of the run where one of the `refused` calls was rejected too often in it."""
    for call in refused:
        times = 1 + _rejections(messages, call)
        if times >= MOST_REJECTIONS:
            evidence: dict[str, Any] = {
                "rule": "rejected",
                "call": {"name": call["name"], "args": call["args"]},
                "times": times,
            }
            missing = f"another way: the same call of {call['name']} was rejected {times} times"
            return Stop(status="no_progress", evidence=evidence, missing=missing)
    return None


def _rejections(messages: Sequence[BaseMessage], call: ToolCall) -> int:
    """Earlier replies of this run whose call, the same one, was rejected."""
    rejected: set[str] = set()
    count = 0
    for message in reversed(messages):
        if is_human(message):
            break
        if isinstance(message, ToolMessage) and meta(message).get("problem") == "rejected":
            rejected.add(message.tool_call_id)
        elif isinstance(message, AIMessage):
            count += any(
                known["id"] in rejected and _same(known, call) for known in message.tool_calls
            )
    return count


def _same(one: ToolCall, two: ToolCall) -> bool:
    return (one["name"], one["args"]) == (two["name"], two["args"])
