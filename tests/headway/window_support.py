"""Short spellings of a conversation and of the request made from it."""

import json
from collections.abc import Sequence
from typing import Any

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage, ToolMessage

from headway.window import estimate_tokens, fit, overhead_from

TASK = "Make the tests of ./shop pass. Do not touch data/."
SYSTEM = SystemMessage("You work in a folder.", id="system")


def step(
    number: int,
    result: str,
    *,
    name: str = "bash",
    args: dict[str, Any] | None = None,
    thought: str = "",
    status: str = "success",
) -> list[BaseMessage]:
    call = {"id": f"c{number}", "name": name, "args": args or {"command": f"make part{number}"}}
    return [
        AIMessage(thought, id=f"a{number}", tool_calls=[call]),
        ToolMessage(result, id=f"t{number}", tool_call_id=f"c{number}", name=name, status=status),
    ]


def conversation(*steps: list[BaseMessage]) -> list[BaseMessage]:
    return [SYSTEM, HumanMessage(TASK, id="task"), *(m for one in steps for m in one)]


def steps(count: int, size: int) -> list[BaseMessage]:
    return conversation(*(step(i, f"result {i} " + "x" * size) for i in range(count)))


def assert_paired(messages: Sequence[BaseMessage]) -> None:
    """Every call is answered once, in order, directly behind its message; nothing else is."""
    expected: list[str | None] = []
    for message in messages:
        if isinstance(message, ToolMessage):
            assert expected
            assert message.tool_call_id == expected.pop(0)
        else:
            assert not expected
            if isinstance(message, AIMessage):
                expected = [call["id"] for call in message.tool_calls]
    assert not expected


def sent(messages: Sequence[BaseMessage]) -> list[str]:
    return [
        json.dumps([m.type, m.content, getattr(m, "tool_calls", None)], sort_keys=True)
        for m in messages
    ]


def fitted(
    messages: list[BaseMessage], window: int, before: dict[str, Any] | None = None, **more: Any
) -> tuple[list[BaseMessage], dict[str, Any]]:
    fitted = fit(
        messages,
        window=window,
        reserve=window // 8,
        overhead=overhead_from(messages, 1.0),
        factor=1.0,
        shortened_before=before or {},
        **more,
    )
    assert fitted.tokens(1.0) == estimate_tokens(fitted.messages)
    return fitted.messages, fitted.shortened
