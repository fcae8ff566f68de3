"""What the calls of a tools step came back with: each with its arguments and its whole result."""

from dataclasses import dataclass
from typing import Any

from langchain_core.messages import AIMessage, ToolCall

from headway_debugger.threads import Thread
from headway_debugger.tree import TreeNode
from headway_tools.errors import ToolFailure
from headway_tools.journal import Journal
from headway_tools.storage import FolderStorage


@dataclass(frozen=True)
class CallResult:
    """One call, how it ended, and what it said: the whole text, as far as it is still kept."""

    call: ToolCall
    status: str
    text: str


def results_of(thread: Thread, node: TreeNode) -> list[CallResult]:
    """The results that stand in the state of `node`, in order; none but behind a tools step."""
    values = thread.state(node)
    seen: list[dict[str, Any]] = [o for o in values.get("hw_observations") or () if "call" in o]
    if not seen:
        return []
    replies = [m for m in values.get("messages") or () if isinstance(m, AIMessage)]
    calls = {call["id"]: call for reply in replies[-1:] for call in reply.tool_calls}
    journal = FolderStorage(thread.home).journal(thread.id)
    try:
        return [
            CallResult(
                calls.get(o["call"]) or ToolCall(name=o.get("name", ""), args={}, id=o["call"]),
                o.get("status", ""),
                _text(journal, o),
            )
            for o in seen
        ]
    finally:
        journal.close()


def _text(journal: Journal, observation: dict[str, Any]) -> str:
    if "output" not in observation:
        return str(observation.get("text", ""))
    try:
        return str(journal.read(observation["output"]))
    except ToolFailure as failure:
        return f"({failure.message})"
