"""What comes in from outside, as every saver and server accepts it.

A saver writes a run's input before the first node runs, so it is cleaned in the channel by which
it enters: one odd value in it would otherwise end the run with the saver's own error.
"""

from collections.abc import Sequence
from typing import Any

from langchain_core.messages import BaseMessage, convert_to_messages
from langgraph.channels.ephemeral_value import EphemeralValue

from headway_tools.values import is_plain, plain


class Intake(EphemeralValue[Any]):
    """The channel of the graph's input."""

    def update(self, values: Sequence[Any]) -> bool:
        return super().update([_clean(value) for value in values])


def _clean(value: Any) -> Any:
    if not isinstance(value, dict) or not value.get("messages"):
        return value
    given = value["messages"]
    messages = convert_to_messages(given if isinstance(given, list) else [given])
    return {**value, "messages": [clean_message(message) for message in messages]}


def clean_message(message: BaseMessage) -> BaseMessage:
    """`message` with plain data, without NULs and lone surrogates, in each field but `artifact`,
    which is its owner's object and goes to no model; itself where nothing is odd."""
    fields = {**message.__dict__, **(message.model_extra or {}), "artifact": None}
    odd = {name: plain(value) for name, value in fields.items() if not is_plain(value)}
    return message.model_copy(update=odd) if odd else message
