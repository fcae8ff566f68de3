"""What comes in from outside, as every saver and server accepts it.

A saver writes a run's input before the first node runs, so it is cleaned in the channel by which
it enters: one odd value in it would otherwise end the run with the saver's own error.
"""

from collections.abc import Sequence
from typing import Any

from langchain_core.messages import BaseMessage, ToolMessage, convert_to_messages
from langgraph.channels.ephemeral_value import EphemeralValue
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer

from headway_tools.values import is_plain, plain


class Intake(EphemeralValue[Any]):
    """The input of a graph without a saver of its own: a host may get its messages back, so their
    artifacts stay its own objects."""

    def update(self, values: Sequence[Any]) -> bool:
        return super().update([self._cleaned(value) for value in values])

    def _cleaned(self, value: Any) -> Any:
        if not isinstance(value, dict) or not value.get("messages"):
            return value
        given = value["messages"]
        messages = convert_to_messages(given if isinstance(given, list) else [given])
        return {**value, "messages": [self._message(message) for message in messages]}

    def _message(self, message: BaseMessage) -> BaseMessage:
        return clean_message(message)


class SavedIntake(Intake):
    """The input of a graph with a saver: artifacts that none can store become plain data."""

    def _message(self, message: BaseMessage) -> BaseMessage:
        return storable(clean_message(message))


def clean_message(message: BaseMessage) -> BaseMessage:
    """`message` with plain data, without NULs and lone surrogates, in each field but `artifact`,
    which is its owner's object and goes to no model; itself where nothing is odd."""
    fields = {**message.__dict__, **(message.model_extra or {}), "artifact": None}
    odd = {name: plain(value) for name, value in fields.items() if not is_plain(value)}
    return message.model_copy(update=odd) if odd else message


def storable(message: BaseMessage) -> BaseMessage:
    """`message`, its artifact as plain data where LangGraph's serializer refuses it."""
    if not isinstance(message, ToolMessage) or is_plain(message.artifact):
        return message
    try:
        JsonPlusSerializer().dumps_typed(message)
    except Exception:  # whatever an object raises while it is looked at
        return message.model_copy(update={"artifact": plain(message.artifact)})
    return message
