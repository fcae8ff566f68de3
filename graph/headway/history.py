"""A conversation that the strictest server accepts: pure functions on lists of messages.

State keeps what happened; `mend` makes the request from it. Servers differ in what they refuse
(orphan answers, ids used twice, two user messages in a row, a late system message), so a request
obeys all of them at once. On a valid history `mend` only looks, and the prefix stays identical.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from langchain_core.messages import (
    AIMessage,
    BaseMessage,
    HumanMessage,
    RemoveMessage,
    SystemMessage,
    ToolCall,
    ToolMessage,
    message_chunk_to_message,
)

from headway.ids import as_name, key, short_id, usable
from headway.validity import CALL_KEYS, as_part, is_blank, is_unsendable, problems, text_of
from headway_tools.values import plain

__all__ = ["OpenCalls", "closed", "mend", "merged_names", "open_calls", "place", "problems"]

NOT_RECORDED = "no result recorded; this call may or may not have run: check before you repeat it"
NO_OUTPUT = "(no output)"
"""In place of an empty result, which some servers refuse."""

CONTINUE = "Please continue."


class OpenCalls(NamedTuple):
    """The last reply that called tools, and what still has to be answered."""

    message: AIMessage | None
    calls: list[ToolCall]
    """Its calls without an answer, in order."""
    later: list[BaseMessage]
    """Messages behind it that answer none of its calls."""


def open_calls(messages: Sequence[BaseMessage]) -> OpenCalls:
    """Find the last AIMessage with calls, its unanswered calls and the non-answers behind it."""
    for place_ in range(len(messages) - 1, -1, -1):
        message = messages[place_]
        if isinstance(message, AIMessage) and message.tool_calls:
            behind = messages[place_ + 1 :]
            ids = {key(call["id"]) for call in message.tool_calls}
            answers = [
                m for m in behind if isinstance(m, ToolMessage) and key(m.tool_call_id) in ids
            ]
            done = {key(m.tool_call_id) for m in answers}
            return OpenCalls(
                message,
                [_named(call) for call in message.tool_calls if key(call["id"]) not in done],
                [m for m in behind if not any(m is answer for answer in answers)],
            )
    return OpenCalls(None, [], [])


def _named(call: ToolCall) -> ToolCall:
    """A call that a host or an edit left without an id can still be answered."""
    return call if isinstance(call["id"], str) else {**call, "id": ""}


def place(messages: Sequence[BaseMessage], answers: Sequence[ToolMessage]) -> list[BaseMessage]:
    """The writes that put `answers` directly behind their AIMessage, whatever came in between
    (new input, `Command(update=)`, an edit in Studio): later messages move behind them."""
    later = open_calls(messages).later
    moved = [RemoveMessage(id=m.id) for m in later if m.id is not None]
    return [*moved, *answers, *(m for m in later if m.id is not None)]


def closed(call: ToolCall, code: str, text: str = NOT_RECORDED) -> ToolMessage:
    """The answer of a call that has no result. It never claims that the call did not run unless
    `text` says so."""
    return ToolMessage(
        f"{code}: {text}", tool_call_id=key(call["id"]), name=call["name"], status="error"
    )


def mend(messages: Sequence[BaseMessage]) -> list[BaseMessage]:
    """The same conversation in the form of a valid request; `problems` of it is empty.

    System text first; each call answered once, directly behind its message, in order (a missing
    answer says that none was recorded); orphan answers, empty replies and call blocks in content
    dropped; neighbours of one role merged; the first and the last message are no reply.
    Deterministic, so the request of the next turn starts with the same messages.
    """
    if not problems(messages):
        return list(messages)
    whole = [message_chunk_to_message(m) for m in messages if not isinstance(m, RemoveMessage)]
    cleaned = [_clean(m) for m in whole]
    system = [m for m in cleaned if isinstance(m, SystemMessage)]
    rest = _paired([m for m in cleaned if not isinstance(m, SystemMessage)])
    return [*_merged(m for m in system if not is_blank(m)), *_ended(list(_merged(rest)))]


def _clean(message: BaseMessage) -> BaseMessage:
    """One message on its own: sendable, and of one of the four kinds."""
    content = plain(message.content)
    if isinstance(content, list):
        parts = [as_part(block, message) for block in content]
        content = [part for part in parts if not is_unsendable(part, message)]
    if isinstance(message, AIMessage):
        return _clean_reply(message, content)
    if is_blank(message) and not isinstance(message, SystemMessage):
        content = NO_OUTPUT if isinstance(message, ToolMessage) else "(empty message)"
    if isinstance(message, ToolMessage | HumanMessage | SystemMessage):
        return message.model_copy(update={"content": content})
    return HumanMessage(content, id=message.id)


def _clean_reply(message: AIMessage, content: Any) -> AIMessage:
    calls = [
        ToolCall(
            name=as_name(call["name"]),
            args=plain(call["args"]),
            id=call["id"],
            type="tool_call",
        )
        for call in message.tool_calls
    ]
    calls += [
        ToolCall(name=as_name(bad["name"] or ""), args={}, id=bad["id"], type="tool_call")
        for bad in message.invalid_tool_calls
    ]
    extra = {k: v for k, v in message.additional_kwargs.items() if k not in CALL_KEYS}
    return AIMessage(
        content or "",
        id=message.id,
        name=message.name,
        tool_calls=calls,
        additional_kwargs=extra,
        response_metadata=message.response_metadata,
        usage_metadata=message.usage_metadata,
    )


def _paired(messages: list[BaseMessage]) -> Iterator[BaseMessage]:
    """Replies and their answers side by side; ids unique; orphans and empty replies left out."""
    answers: dict[str, list[tuple[int, ToolMessage]]] = {}
    for at, message in enumerate(messages):
        if isinstance(message, ToolMessage):
            answers.setdefault(key(message.tool_call_id), []).append((at, message))
    uses = _next_uses(messages)
    taken: set[str] = set()
    for at, message in enumerate(messages):
        if isinstance(message, ToolMessage):
            continue
        if not isinstance(message, AIMessage) or not message.tool_calls:
            if not isinstance(message, AIMessage) or text_of(message).strip():
                yield message
            continue
        calls = [
            ToolCall(name=c["name"], args=c["args"], id=_fresh(c["id"], taken), type="tool_call")
            for c in message.tool_calls
        ]
        yield message.model_copy(update={"tool_calls": calls})
        for call, new in zip(message.tool_calls, calls, strict=True):
            end = uses.get((key(call["id"]), at), len(messages))
            answer = _take(answers.get(key(call["id"]), []), at, end)
            yield (
                answer.model_copy(update={"tool_call_id": new["id"]})
                if answer
                else closed(new, "interrupted")
            )


def _next_uses(messages: Sequence[BaseMessage]) -> dict[tuple[str, int], int]:
    """(call id, place of a reply) → place of the next reply that uses the same id: an answer
    behind that one belongs to it, since some servers number each turn's calls from zero."""
    last: dict[str, int] = {}
    uses: dict[tuple[str, int], int] = {}
    for at, message in enumerate(messages):
        for call_id in {key(c["id"]) for c in getattr(message, "tool_calls", None) or ()}:
            if call_id in last:
                uses[call_id, last[call_id]] = at
            last[call_id] = at
    return uses


def _take(found: list[tuple[int, ToolMessage]], start: int, end: int) -> ToolMessage | None:
    for place_, (at, answer) in enumerate(found):
        if start < at < end:
            del found[place_]
            return answer
    return None


def _fresh(call_id: str | None, taken: set[str]) -> str:
    new = call_id or ""
    if not usable(new) or new in taken:
        new = short_id(taken, call_id or "", len(taken))
    taken.add(new)
    return new


def _merged(messages: Iterable[BaseMessage]) -> Iterator[BaseMessage]:
    """Neighbours of one role as one message; a reply with calls keeps its answers behind it."""
    held: BaseMessage | None = None
    for message in messages:
        if held is not None and _mergeable(held, message):
            held = _join(held, message)
            continue
        if held is not None:
            yield held
        held = message
    if held is not None:
        yield held


def _mergeable(left: BaseMessage, right: BaseMessage) -> bool:
    if left.type != right.type or isinstance(left, ToolMessage):
        return False
    return not (isinstance(left, AIMessage) and left.tool_calls)


def _join(left: BaseMessage, right: BaseMessage) -> BaseMessage:
    """`right` appended to `left`; the names of the parts stay visible to scripted models."""
    if isinstance(left.content, str) and isinstance(right.content, str):
        content: Any = "\n\n".join(text for text in (left.content, right.content) if text.strip())
    else:
        content = [*_blocks(left), *_blocks(right)]
    update: dict[str, Any] = {"content": content}
    if isinstance(right, AIMessage):
        update["tool_calls"] = right.tool_calls
    if isinstance(left, HumanMessage):
        names = [*merged_names(left), *merged_names(right)]
        update |= {"additional_kwargs": {**left.additional_kwargs, "merged": names}, "name": None}
    return left.model_copy(update=update)


def merged_names(message: BaseMessage) -> list[str | None]:
    """The `name` of each message that `mend` merged into this one."""
    names = message.additional_kwargs.get("merged")
    return list(names) if isinstance(names, list) else [message.name]


def _blocks(message: BaseMessage) -> list[Any]:
    if isinstance(message.content, str):
        return [{"type": "text", "text": message.content}] if message.content.strip() else []
    return list(message.content)


def _ended(messages: list[BaseMessage]) -> list[BaseMessage]:
    """A user message at both ends, where a reply or nothing stands there."""
    if not messages or isinstance(messages[0], AIMessage):
        messages = [HumanMessage(CONTINUE), *messages]
    if isinstance(messages[-1], AIMessage):
        messages = [*messages, HumanMessage(CONTINUE)]
    return messages
