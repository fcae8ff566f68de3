"""progress: is the run getting anywhere? A pure detector over the newest round."""

import json
from collections.abc import Sequence
from typing import Any

from langchain_core.messages import AIMessage, BaseMessage
from langgraph.runtime import Runtime

from headway.context import Context
from headway.history import open_calls
from headway.notes import meta
from headway.observe import texts
from headway.parts import Parts, Update
from headway.progress import CallFact, Round, detect
from headway.state import Run, State, Stop
from headway.steps import THINK


def progress(state: State, runtime: Runtime[Context], *, parts: Parts) -> Update:
    """Go on, tell the model, or stop; the verdict is acted upon by truncate and its edge."""
    message = open_calls(state["messages"]).message
    if message is None or (_only_thinks(message) and not _thought_before(state["messages"])):
        return {"hw_verdict": {}}
    memory, verdict = detect(
        state.get("hw_progress", {}),
        _round(state, message, runtime, parts),
        parts.settings.progress,
    )
    before = state.get("hw_run", {})
    run: Run = {**before, "files_seen": state.get("hw_files", "")}
    if verdict.level == "stop":
        run["stop"] = Stop(status="no_progress", evidence=verdict.evidence)
    told: dict[str, Any] = {}
    if verdict.level != "go_on":
        runtime.stream_writer({"type": "note", "about": "progress", "text": verdict.advice})
        told = {"level": verdict.level, "rule": verdict.rule, "advice": verdict.advice}
    changes = {"hw_run": run} if run != before else {}
    return {"hw_progress": memory, "hw_verdict": told, **changes}


def _only_thinks(message: AIMessage) -> bool:
    return bool(message.tool_calls) and all(c["name"] == THINK for c in message.tool_calls)


def _thought_before(messages: Sequence[BaseMessage]) -> bool:
    """Whether the reply before the newest one only thought, too: a first thought is neutral."""
    replies = (message for message in reversed(messages) if isinstance(message, AIMessage))
    next(replies, None)
    before = next(replies, None)
    return before is not None and _only_thinks(before)


def _counter(content: str | list[Any], field: str | None) -> float | None:
    """The count that a tool declared: a number in a field of its JSON result."""
    if field is None or not isinstance(content, str):
        return None
    try:
        value = json.loads(content).get(field)
    except (ValueError, AttributeError):
        return None
    known = isinstance(value, int | float) and not isinstance(value, bool)
    return float(value) if known else None


def _plain(content: str | list[Any]) -> str:
    return content if isinstance(content, str) else str(content)


def _round(state: State, message: AIMessage, runtime: Runtime[Context], parts: Parts) -> Round:
    """The newest round. `think` counts as text: a reply that does nothing else is a bare one."""
    observations = {o["call"]: o for o in state.get("hw_observations", []) if "call" in o}
    seen = texts(list(observations.values()), parts.env(state, runtime), parts)
    bad = meta(message).get("call_errors", {})
    files, before = state.get("hw_files", ""), state.get("hw_run", {}).get("files_seen", "")
    return Round(
        calls=tuple(
            CallFact(
                name=call["name"],
                args=call["args"],
                observation=_plain(seen.get(call["id"] or "", "")),
                status=observations.get(call["id"] or "", {}).get("status", "error"),
                kind=parts.declaration(call["name"]).kind,
                neutral=parts.declaration(call["name"]).neutral,
                problem=bad.get(call["id"], {}).get("code"),
                counter=_counter(
                    seen.get(call["id"] or "", ""), parts.declaration(call["name"]).counter
                ),
            )
            for call in message.tool_calls
            if call["name"] != THINK
        ),
        thought=message.text[:2000],
        changed=files != before if files else None,
    )
