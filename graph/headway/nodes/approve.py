"""approve: a person decides about calls, before any side effect."""

from langchain_core.messages import AIMessage
from langgraph.runtime import Runtime
from langgraph.types import interrupt

from headway.approvals import Decision, question, read_answer
from headway.context import Context
from headway.history import open_calls
from headway.parts import Parts, Update
from headway.state import State


def approve(state: State, runtime: Runtime[Context], *, parts: Parts) -> Update:
    """Ask until the answer fits the question; an edited call replaces the model's own, by id."""
    pending = open_calls(state["messages"])
    asked = [call for call in pending.calls if call["id"] in state["hw_run"].get("ask", [])]
    payload = question(asked)
    while isinstance(read := read_answer(interrupt(payload), asked), str):
        payload = question(asked, error=read)
    edited = _edited(pending.message, read) if pending.message else None
    return {"hw_decisions": read, "messages": [edited] if edited else []}


def _edited(message: AIMessage, decisions: dict[str, Decision]) -> AIMessage | None:
    calls = [
        {**call, **decisions[call["id"] or ""]["edited_action"]}
        if decisions.get(call["id"] or "", {}).get("type") == "edit"
        else call
        for call in message.tool_calls
    ]
    return message.model_copy(update={"tool_calls": calls}) if calls != message.tool_calls else None
