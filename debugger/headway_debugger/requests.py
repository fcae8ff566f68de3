"""What was sent to the model at a step: rebuilt, and compared with what the reply keeps of it."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.utils.function_calling import convert_to_openai_tool

from headway.build import make_parts
from headway.context import Context
from headway.limits import Limits
from headway.notes import meta
from headway.parts import Parts, digest
from headway.protocol.transcript import transcript
from headway.request import build
from headway.threads import stored_options
from headway_debugger.threads import Thread
from headway_debugger.tree import TreeNode
from headway_debugger.views import request

_SAYS: Final = {
    "system": "the system message (limits, instructions, or headway's own words)",
    "tools": "the tools",
}


@dataclass(frozen=True)
class SentRequest:
    """One request. `differs` names what was otherwise when it was sent; None: the reply does not
    tell (it was not sent yet, was left out of history, or an older headway sent it)."""

    model: str
    protocol: str
    messages: list[BaseMessage]
    tools: list[dict[str, Any]]
    differs: list[str] | None


def request_at(thread: Thread, node: TreeNode) -> SentRequest:
    """The request of a step: with the model, protocol and window that its reply names, and the
    limits of its part of the thread. `HeadwayError`: the model was not asked there."""
    asked = _asked(thread, node)
    facts = _facts(thread, asked) if asked else {}
    options: Any = stored_options(thread.record, node.branch)
    options |= {key: facts[key] for key in ("window", "protocol") if key in facts}
    if limits := _limits(thread, node):
        options["limits"] = limits
    model = str(facts.get("model") or thread.record.kept(node.branch).model or "")
    parts = make_parts(model or None, tools=None, name="headway", options=options)
    shortened = {"hw_window": thread.state(asked).get("hw_window", {})} if asked else {}

    def rebuilt(values: Mapping[str, Any]) -> SentRequest:
        known: Any = {**values, **shortened}
        made = build(known, parts=parts, context=Context())
        tools = [convert_to_openai_tool(tool) for tool in made.tools]
        protocol = str(facts.get("protocol") or "native")
        written = transcript(made.messages, tools) if protocol == "text" else made.messages
        differs = _differences(facts, str(made.messages[0].text), parts) if facts else None
        return SentRequest(model, protocol, written, tools, differs)

    found: SentRequest = request(thread.backend, thread.tree, node, rebuilt)
    return found


def _asked(thread: Thread, node: TreeNode) -> TreeNode | None:
    """The step that asked the model: this one, or the one that follows. Its state holds what its
    request left out, also where a server had refused a longer one."""
    line = thread.tree.branches[node.branch].nodes
    later = line[line.index(node) :]
    return next((step for step in later[:2] if "agent" in step.writers), None)


def _facts(thread: Thread, asked: TreeNode) -> Mapping[str, Any]:
    """What the reply keeps of its request."""
    replies = thread.step(asked).messages
    return next((meta(m).get("sent", {}) for m in replies if isinstance(m, AIMessage)), {})


def _limits(thread: Thread, node: TreeNode) -> Limits | None:
    """Those of the outcome that the step's part of the thread ended with."""
    line = thread.tree.branches[node.branch].nodes
    for step in line[line.index(node) :]:
        if {"verify", "finish"} & set(step.writers):
            outcome = thread.state(step).get("outcome") or {}
            if outcome.get("limits"):
                return Limits(**outcome["limits"])
    return None


def _differences(facts: Mapping[str, Any], system: str, parts: Parts) -> list[str]:
    now = {"system": digest(system), "tools": parts.tool_digest}
    return [_SAYS[key] for key in now if facts.get(key) and facts[key] != now[key]]
