"""The reducer of the messages channel: append, replace by id, remove by RemoveMessage."""

from collections.abc import Sequence
from operator import attrgetter
from typing import Any

from langchain_core.messages import AnyMessage, BaseMessage, RemoveMessage, convert_to_messages
from langgraph.graph.message import REMOVE_ALL_MESSAGES


def merge(state: list[AnyMessage] | None, writes: Sequence[Any]) -> list[AnyMessage]:
    """Fold `writes` (messages, lists of them, or their dict forms) into `state`.

    One message at a time and no state outside the list, so folding is batching-invariant, which
    `DeltaChannel` demands; also on a list that holds one id twice. The input is never mutated.
    """
    base = _messages(state or [])
    new = _messages(
        [m for write in writes for m in (write if isinstance(write, list) else [write])]
    )
    if not new:
        return base
    return _append(base, new) or _replace(base, new)


_ID = attrgetter("id")


def _messages(values: list[Any]) -> list[Any]:
    if all(issubclass(kind, BaseMessage) for kind in set(map(type, values))):
        return values
    return convert_to_messages(values)


def _append(base: list[Any], new: list[Any]) -> list[Any] | None:
    """The steady state, its one pass over the history in C; None where ids have to be looked up."""
    given = [m.id for m in new if m.id is not None]
    ids = set(given)
    if (
        len(ids) != len(given)
        or any(isinstance(m, RemoveMessage) for m in new)
        or (ids and not ids.isdisjoint(map(_ID, base)))
    ):
        return None
    return [*base, *new]


def _replace(base: list[Any], new: list[Any]) -> list[Any]:
    kept: list[Any] = list(base)
    places: dict[str, list[int]] = {}
    for place, message in enumerate(kept):
        if message.id is not None:
            places.setdefault(message.id, []).append(place)
    for message in new:
        if isinstance(message, RemoveMessage):
            if message.id == REMOVE_ALL_MESSAGES:
                kept, places = [], {}
            for place in places.pop(message.id or "", ()):
                kept[place] = None
        elif message.id is not None and message.id in places:
            kept[places[message.id][-1]] = message
        else:
            if message.id is not None:
                places[message.id] = [len(kept)]
            kept.append(message)
    return [message for message in kept if message is not None]
