"""The edits that `fork` writes: made from a state's values, pure."""

from collections.abc import Mapping, Sequence
from typing import Any

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage

from headway.notes import FIELD, meta
from headway_debugger.backend import MESSAGES
from headway_debugger.fork import START, Edit
from headway_tools.errors import HeadwayError

Content = str | list[str | dict[str, Any]]


def message_edit(values: Mapping[str, Any], message_id: str, content: Content) -> Edit:
    """Another content for the message with this id (or a unique start of it).

    A reply keeps its tool calls. `HeadwayError`: no such message, or more than one.
    """
    found = [m for m in _messages(values) if m.id and m.id.startswith(message_id)]
    exact = [m for m in found if m.id == message_id]
    return _replaced(_one(exact or found, f"message {message_id}"), content)


def result_edit(values: Mapping[str, Any], call_id: str, content: Content) -> Edit:
    """Another result for a tool call: the model goes on from it as if the tool had said so.

    `call_id` names the call (the newest answer to it counts); empty: the last result.
    `HeadwayError`: no such result.
    """
    results = [m for m in _messages(values) if isinstance(m, ToolMessage)]
    found = [m for m in results if m.tool_call_id == call_id or not call_id]
    return _replaced(_one(found[-1:], f"tool result {call_id}".rstrip()), content)


def task_edit(values: Mapping[str, Any], content: Content) -> Edit:
    """Another task: the first message of a person. `HeadwayError`: there is none."""
    humans = [m for m in _messages(values) if isinstance(m, HumanMessage)]
    return _replaced(_one(humans[:1], "task"), content)


def reply_edit(values: Mapping[str, Any], reply: AIMessage) -> Edit:
    """`reply` in place of the model's last one, its calls included.

    Where one of them calls tools and the other does not, the graph's edges decide anew.
    `HeadwayError`: there is no reply, or tools have answered it already.
    """
    last = _messages(values)[-1:]
    if not last or not isinstance(last[0], AIMessage):
        raise HeadwayError("the last message here is no reply: choose the step after the model")
    replaced = reply.model_copy(update={"id": last[0].id})
    return Edit({MESSAGES: [replaced]}, reroute=bool(reply.tool_calls) != bool(last[0].tool_calls))


def human_edit(content: Content) -> Edit:
    """A new message of a person, as input: the graph starts a run with it."""
    return Edit({MESSAGES: [HumanMessage(content)]}, as_node=START)


def value_edit(key: str, value: Any) -> Edit:
    """Another value for a plain channel (a limit, a model name)."""
    return Edit({key: value})


def together(edits: Sequence[Edit]) -> Edit:
    """One edit from several; `HeadwayError`: they name different nodes."""
    nodes = {edit.as_node for edit in edits if edit.as_node is not None}
    if len(nodes) > 1:
        raise HeadwayError(f"one fork cannot count for {' and '.join(sorted(nodes))}: make two")
    values: dict[str, Any] = {}
    for edit in edits:
        for key, value in edit.values.items():
            both = key == MESSAGES and key in values
            values[key] = [*values[key], *value] if both else value
    return Edit(values, next(iter(nodes), None), any(edit.reroute for edit in edits))


def _messages(values: Mapping[str, Any]) -> list[BaseMessage]:
    found = values.get(MESSAGES)
    return found if isinstance(found, list) else []


def _one(found: Sequence[BaseMessage], what: str) -> BaseMessage:
    if not found:
        raise HeadwayError(f"there is no {what} at this step: `headway show` lists the messages")
    if len(found) > 1:
        raise HeadwayError(f"{what} fits {len(found)} messages: write more of the id")
    return found[0]


def _replaced(message: BaseMessage, content: Content) -> Edit:
    """`message` with another content, which is no recorded output any more."""
    notes = {key: value for key, value in meta(message).items() if key != "output"}
    changed: dict[str, Any] = {"content": content}
    if notes != meta(message):
        changed["response_metadata"] = {**message.response_metadata, FIELD: notes}
    return Edit({MESSAGES: [message.model_copy(update=changed)]})
