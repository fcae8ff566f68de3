"""The trace of a run, derived from messages by a pure function."""

import json
from collections.abc import Sequence
from typing import Any

from langchain_core.messages import AIMessage, BaseMessage, ToolCall, ToolMessage

from headway.notes import is_human, meta
from headway.trace import StepTrace, ToolCallTrace

THINK = "think"


def trace(messages: Sequence[BaseMessage], *, whole: bool = False) -> list[StepTrace]:
    """One `StepTrace` per tool call, and per reply without one, in order; since the newest human
    message, or with `whole` for the whole thread (`turn` starts anew at each human message)."""
    start = 0
    if not whole:
        start = max((i + 1 for i, m in enumerate(messages) if is_human(m)), default=0)
    answers = {m.tool_call_id: m for m in messages[start:] if isinstance(m, ToolMessage)}
    steps: list[StepTrace] = []
    turn = 0
    for message in messages[start:]:
        if is_human(message):
            turn = 0
        if isinstance(message, AIMessage) and not meta(message).get("partial"):
            turn += 1
            steps += _steps(message, turn, answers)
    return steps


def _steps(message: AIMessage, turn: int, answers: dict[str, ToolMessage]) -> list[StepTrace]:
    said = thought_of(message)
    if not message.tool_calls:
        return [StepTrace(turn=turn, thought=said, message_id=message.id or "")]
    steps = []
    for call in message.tool_calls:
        answer = answers.get(call["id"] or "")
        think = call["name"] == THINK
        thought = "\n".join(filter(None, (said, think_text(call) if think else "")))
        steps.append(
            StepTrace(
                turn=turn,
                thought=thought,
                tool_call=None
                if think
                else ToolCallTrace(id=call["id"] or "", name=call["name"], args=call["args"]),
                observation=str(answer.text) if answer else None,
                status=answer.status if answer else None,
                message_id=message.id or "",
            )
        )
        said = ""
    return steps


def thought_of(message: AIMessage) -> str:
    """The visible text of a reply, else its reasoning content."""
    text = str(message.text).strip()
    return text or str(message.additional_kwargs.get("reasoning_content") or "").strip()


def think_text(call: ToolCall) -> str:
    """A `think` call's arguments as sentences."""
    return "; ".join(f"{name}: {value}" for name, value in call["args"].items())


def result_of(step: StepTrace) -> dict[str, Any]:
    """The observation as data, where it is a JSON object; else {}."""
    try:
        value = json.loads(step.observation or "")
    except ValueError:
        return {}
    return value if isinstance(value, dict) else {}
