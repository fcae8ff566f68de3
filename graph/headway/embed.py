"""headway as a node of a larger graph.

The compiled agent is itself a node wherever the parent's state has `messages` (the whole history
goes in and comes out). These adapters return the answer and the outcome only, and they stay plain
functions that close over the agent, so that LangGraph sees it as a subgraph.
"""

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, convert_to_messages
from langchain_core.runnables import RunnableConfig
from langgraph.pregel.remote import RemoteGraph
from langgraph.types import Command, StateSnapshot, interrupt

from headway.build import Agent
from headway.context import Context

Task = Callable[[Any], str]
"""From the parent's state to the task."""

Update = dict[str, Any]


def newest_request(state: Mapping[str, Any]) -> str:
    """The text of the newest human message in the parent's `messages`."""
    messages = convert_to_messages(state["messages"])
    return next((str(m.text) for m in reversed(messages) if isinstance(m, HumanMessage)), "")


def answer_node(
    agent: Agent, *, task: Task = newest_request, context: Context | None = None
) -> Callable[[Any, RunnableConfig], Update]:
    """A node that gives `agent` one task and returns `{"messages": [answer], "outcome"}`.

    Interrupts, streams and the parent's checkpointer go through it.
    """

    def node(state: Any, config: RunnableConfig) -> Update:
        given: Any = {"messages": [HumanMessage(task(state))]}
        return _result(agent.invoke(given, config, context=context), agent.name)

    return node


def async_answer_node(
    agent: Agent, *, task: Task = newest_request, context: Context | None = None
) -> Callable[[Any, RunnableConfig], Awaitable[Update]]:
    """`answer_node` for parents that run asynchronously."""

    async def node(state: Any, config: RunnableConfig) -> Update:
        given: Any = {"messages": [HumanMessage(task(state))]}
        return _result(await agent.ainvoke(given, config, context=context), agent.name)

    return node


def _result(values: Any, name: str | None) -> Update:
    outcome = values["outcome"]
    answer = AIMessage(str(values["messages"][-1].text), name=name)
    return {"messages": [answer], "outcome": outcome}


def remote_node(
    remote: RemoteGraph, *, task: Task = newest_request
) -> Callable[[Any, RunnableConfig], Update]:
    """A served headway as a node that can be resumed: its thread has the parent thread's id, and
    its interrupts are the parent's (a bare RemoteGraph re-sends its input for ever)."""

    def node(state: Any, config: RunnableConfig) -> Update:
        thread_id = config["configurable"]["thread_id"]
        thread: RunnableConfig = {"configurable": {"thread_id": thread_id}}
        head = _head(remote, thread)
        values: Any = None
        if head is None or not head.interrupts:
            values = remote.invoke({"messages": [_wire(HumanMessage(task(state)))]}, thread)
        while (head := _head(remote, thread)) is not None and head.interrupts:
            values = remote.invoke(Command(resume=interrupt(head.interrupts[0].value)), thread)
        messages = convert_to_messages(values["messages"])
        return {"messages": [messages[-1]], "outcome": values.get("outcome")}

    return node


def _head(remote: RemoteGraph, config: RunnableConfig) -> StateSnapshot | None:
    """The newest state; the one form that every server answers for an empty thread too."""
    return next(iter(remote.get_state_history(config, limit=1)), None)


def _wire(message: BaseMessage) -> dict[str, str]:
    return {"role": "user", "content": str(message.text)}
