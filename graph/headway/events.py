"""A run as events for people and programs: plain dicts with `type`, from LangGraph's stream."""

from collections.abc import Iterator, Mapping
from typing import Any, Final

from langchain_core.messages import (
    AIMessage,
    AIMessageChunk,
    BaseMessage,
    HumanMessage,
    ToolMessage,
)

from headway.notes import AUTHOR, meta
from headway.steps import think_text, thought_of

Event = dict[str, Any]
"""By `type`: `start` {thread, task, workspace, model, sandbox, limits, beside} · `token` {text} ·
`thought` {turn, text} · `call` {turn, id, tool, args} · `observation` {turn, id, tool, status,
text} · `note` {about, text} · `question` {id, value} · `end` {outcome}; see `docs/json.md`."""

STREAM_MODES: Final = ("updates", "custom", "messages")


class Events:
    """Turns LangGraph's stream parts (version 2) of one run into events."""

    def __init__(self, turn: int = 0) -> None:
        """`turn` is the newest one that the run had already, where it goes on."""
        self._turn = turn

    def of(self, part: Mapping[str, Any]) -> Iterator[Event]:
        """The events of one stream part; none for parts that say nothing to a person."""
        if part["type"] == "custom" and isinstance(part["data"], dict):
            yield part["data"]
        elif part["type"] == "messages":
            yield from _token(*part["data"])
        elif part["type"] == "updates":
            for node, update in part["data"].items():
                if node == "__interrupt__":
                    yield from ({"type": "question", "id": i.id, "value": i.value} for i in update)
                else:
                    yield from self._update(node, update)

    def _update(self, node: str, update: Any) -> Iterator[Event]:
        for one in update if isinstance(update, list) else [update]:
            messages = one.get("messages") if isinstance(one, Mapping) else None
            for message in messages or []:
                yield from self._message(node, message)

    def _message(self, node: str, message: BaseMessage) -> Iterator[Event]:
        if isinstance(message, AIMessage) and node == "agent":
            self._turn += 1
            yield from self._reply(message)
        elif isinstance(message, ToolMessage):
            yield {
                "type": "observation",
                "turn": self._turn,
                "id": message.tool_call_id,
                "tool": message.name or "",
                "status": message.status,
                "text": str(message.text),
            }
        elif isinstance(message, HumanMessage) and message.name == AUTHOR:
            yield {"type": "note", "about": node, "text": str(message.text)}

    def _reply(self, message: AIMessage) -> Iterator[Event]:
        thought = thought_of(message)
        if thought and (message.tool_calls or meta(message).get("problem")):
            yield {"type": "thought", "turn": self._turn, "text": thought}
        for call in message.tool_calls:
            if call["name"] == "think":
                yield {"type": "thought", "turn": self._turn, "text": think_text(call)}
            else:
                yield {
                    "type": "call",
                    "turn": self._turn,
                    "id": call["id"],
                    "tool": call["name"],
                    "args": call["args"],
                }


def _token(message: BaseMessage, metadata: Mapping[str, Any]) -> Iterator[Event]:
    if metadata.get("langgraph_node") == "agent" and isinstance(message, AIMessageChunk):
        text = str(message.text)
        if text:
            yield {"type": "token", "text": text}
