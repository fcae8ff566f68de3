"""Scripted models, so that the examples run without a key. Put any chat model in their place."""

from collections.abc import Callable
from typing import Any

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolCall

from headway.testing import PolicyModel


def call(name: str, /, **args: Any) -> AIMessage:
    """A reply that calls one tool."""
    return AIMessage("", tool_calls=[ToolCall(name=name, args=args, id=f"call_{name}")])


def says(*replies: str | AIMessage) -> PolicyModel:
    """A model whose n-th reply since the newest request is `replies[n]`; the last one repeats."""
    return decides(lambda request, past: replies[min(past, len(replies) - 1)])


def decides(choose: Callable[[str, int], str | AIMessage]) -> PolicyModel:
    """A model whose reply depends on the newest request and on how often it answered since."""

    def policy(messages: list[BaseMessage], tools: list[dict[str, Any]]) -> AIMessage:
        at = max(
            i for i, m in enumerate(messages) if isinstance(m, HumanMessage) and m.name != "headway"
        )
        past = sum(isinstance(m, AIMessage) for m in messages[at:])
        reply = choose(str(messages[at].text), past)
        return AIMessage(reply) if isinstance(reply, str) else reply.model_copy()

    return PolicyModel(policy=policy)
