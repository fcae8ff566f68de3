"""One form for what a local graph and a server return: message objects in place of dicts."""

from collections.abc import Iterable
from typing import Any

from langchain_core.messages import BaseMessage, convert_to_messages, messages_from_dict
from langgraph.types import Overwrite, PregelTask, StateSnapshot

_TYPES = frozenset({"human", "ai", "tool", "system", "function", "chat", "remove"})


def normal_snapshot(snapshot: StateSnapshot) -> StateSnapshot:
    """`snapshot` with message objects in its values, its tasks' results and their states."""
    values = snapshot.values
    return snapshot._replace(
        values={key: normal(value) for key, value in values.items()}
        if isinstance(values, dict)
        else values,
        tasks=tuple(_task(task) for task in snapshot.tasks),
    )


def normal(value: Any) -> Any:
    """`value` with lists of message dicts turned into messages; anything else as it is."""
    if isinstance(value, list) and value and all(_is_message_dict(item) for item in value):
        return [_message(item) for item in value]
    return value


def messages_in(values: Iterable[Any]) -> list[BaseMessage]:
    """The messages in values written to a message channel: one, a list, dicts, an Overwrite."""
    found: list[BaseMessage] = []
    for value in values:
        inner = value.value if isinstance(value, Overwrite) else value
        for item in inner if isinstance(inner, list) else [inner]:
            if isinstance(item, BaseMessage):
                found.append(item)
            elif _is_message_dict(item):
                found.append(_message(item))
    return found


def _task(task: PregelTask) -> PregelTask:
    state = task.state
    result = task.result
    if isinstance(result, dict):
        result = {key: normal(value) for key, value in result.items()}
    return task._replace(
        state=normal_snapshot(state) if isinstance(state, StateSnapshot) else state, result=result
    )


def _is_message_dict(value: Any) -> bool:
    named = isinstance(value, dict) and (value.get("type") in _TYPES or "role" in value)
    return named and "content" in value


def _message(data: dict[str, Any]) -> BaseMessage:
    """A message with all its fields: `convert_to_messages` alone loses a reply's usage."""
    if data.get("type") in _TYPES:
        return messages_from_dict([{"type": data["type"], "data": data}])[0]
    return convert_to_messages([data])[0]
