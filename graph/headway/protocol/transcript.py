"""A thread's standard messages as the conversation that a model of the text protocol has had."""

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from langchain_core.messages import (
    AIMessage,
    BaseMessage,
    HumanMessage,
    SystemMessage,
    ToolCall,
    ToolMessage,
)

from headway.history import mend, merged_names
from headway.notes import AUTHOR, Content, meta
from headway.protocol.contract import contract


def transcript(
    messages: Sequence[BaseMessage], tools: Sequence[Mapping[str, Any]]
) -> list[BaseMessage]:
    """System text with the contract, user and assistant messages in turn; no calls, no tool role.

    `messages` is a valid request (`headway.history.mend`). Replies of several calls, made under
    another protocol, become as many actions, each with its observation.
    """
    system = [str(m.text) for m in messages if isinstance(m, SystemMessage)]
    spoken = [m for m in messages if not isinstance(m, SystemMessage)]
    text = "\n\n".join((*system, contract(tools)))
    return mend([SystemMessage(text), *_spoken(spoken)])


def _spoken(messages: Sequence[BaseMessage]) -> Iterator[BaseMessage]:
    answers = {m.tool_call_id: m for m in messages if isinstance(m, ToolMessage)}
    for message in messages:
        if isinstance(message, AIMessage):
            yield from _reply(message, answers)
        elif isinstance(message, HumanMessage):
            yield _question(message)


def _question(message: HumanMessage) -> HumanMessage:
    """A person's words under their label; headway's own remarks as they are."""
    if all(name == AUTHOR for name in merged_names(message)):
        return message
    return message.model_copy(update={"content": _labelled("Question:", message.content)})


def _reply(message: AIMessage, answers: Mapping[str, ToolMessage]) -> Iterator[BaseMessage]:
    said = str(message.text).strip()
    if not message.tool_calls:
        yield AIMessage(said if meta(message).get("problem") else f"Final Answer: {said}")
        return
    bad = meta(message).get("call_errors", {})
    for call in message.tool_calls:
        written = bad.get(call["id"], {}).get("original")
        yield AIMessage(_action(said, call, written))
        answer = answers.get(call["id"] or "")
        if answer is not None:
            yield _observation(answer)
        said = ""


def _action(thought: str, call: ToolCall, written: str | None) -> str:
    """One action; arguments that could not be read stand as they were written."""
    args = json.dumps(call["args"], ensure_ascii=False) if written is None else written
    lines = [f"Thought: {thought}"] if thought else []
    return "\n".join([*lines, f"Action: {call['name']}", f"Action Input: {args}", "PAUSE"])


def _observation(answer: ToolMessage) -> HumanMessage:
    text = _labelled("Observation:", answer.content)
    return HumanMessage(text, response_metadata=answer.response_metadata)


def _labelled(label: str, content: Content) -> Content:
    if isinstance(content, str):
        return f"{label} {content}"
    return [{"type": "text", "text": label}, *content]
