"""Small scripted models: they prove the loop, never a skill."""

from collections.abc import Callable
from typing import Any

from langchain_core.messages import AIMessage, BaseMessage, ToolCall

from headway.testing import PolicyModel


def call(name: str, id: str = "c1", **args: Any) -> ToolCall:
    return ToolCall(name=name, args=args, id=id, type="tool_call")


def bash(command: str, id: str = "c1") -> ToolCall:
    return call("bash", id, command=command)


EDIT = call("edit", "e1", path="a.txt", old_text="world", new_text="there")
"""A call that changes `a.txt` of the fixture `workspace`."""


def replies(*said: AIMessage | str | ToolCall | list[ToolCall]) -> PolicyModel:
    """The n-th reply of the thread is `said[n]`; the last one is repeated."""
    made = [_reply(one) for one in said]

    def policy(messages: list[BaseMessage], tools: list[dict[str, Any]]) -> AIMessage:
        past = sum(isinstance(m, AIMessage) for m in messages)
        return made[min(past, len(made) - 1)]

    return PolicyModel(policy=policy)


def each_time(make: Callable[[int], AIMessage | str | ToolCall | list[ToolCall]]) -> PolicyModel:
    """The n-th reply is `make(n)`, for ever."""

    def policy(messages: list[BaseMessage], tools: list[dict[str, Any]]) -> AIMessage:
        return _reply(make(sum(isinstance(m, AIMessage) for m in messages)))

    return PolicyModel(policy=policy)


def _reply(one: AIMessage | str | ToolCall | list[ToolCall]) -> AIMessage:
    if isinstance(one, AIMessage):
        return one
    if isinstance(one, str):
        return AIMessage(one)
    return AIMessage("", tool_calls=one if isinstance(one, list) else [one])
