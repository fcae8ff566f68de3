"""headway as a node of a larger graph.

The compiled agent is itself a node wherever the parent's state has `messages` (the whole history
goes in and comes out). These adapters return the answer and the outcome only, and they stay plain
functions that close over the agent, so that LangGraph sees it as a subgraph.
"""

import uuid
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final

from langchain_core.messages import AIMessage, HumanMessage, convert_to_messages
from langchain_core.runnables import RunnableConfig
from langgraph.graph.state import CompiledStateGraph
from langgraph.pregel.remote import RemoteGraph
from langgraph.types import Command, StateSnapshot, interrupt
from langgraph_sdk.errors import NotFoundError

from headway.build import Agent
from headway.context import Context
from headway_tools.errors import HeadwayError

Task = Callable[[Any], str]
"""From the parent's state to the task."""

Update = dict[str, Any]

ANSWERS: Final = "hw_answers"
"""Metadata of a remote run: how many answers of the parent's step the server has been given."""


def newest_request(state: Mapping[str, Any]) -> str:
    """The text of the newest human message in the parent's `messages`."""
    messages = convert_to_messages(state["messages"])
    return next((str(m.text) for m in reversed(messages) if isinstance(m, HumanMessage)), "")


def answer_node(
    agent: Agent, *, task: Task = newest_request, context: Context | None = None
) -> Callable[[Any, RunnableConfig], Update]:
    """A node that gives `agent` one task and returns `{"messages": [answer], "outcome"}`.

    Interrupts, streams and the parent's checkpointer go through it. Raises `HeadwayError` for wrong
    use, an empty task included.
    """
    _check_node(agent, task)

    def node(state: Any, config: RunnableConfig) -> Update:
        given: Any = {"messages": [HumanMessage(_asked(task, state))]}
        return _result(agent.invoke(given, config, context=context), agent.name)

    return node


def async_answer_node(
    agent: Agent, *, task: Task = newest_request, context: Context | None = None
) -> Callable[[Any, RunnableConfig], Awaitable[Update]]:
    """`answer_node` for parents that run asynchronously."""
    _check_node(agent, task)

    async def node(state: Any, config: RunnableConfig) -> Update:
        given: Any = {"messages": [HumanMessage(_asked(task, state))]}
        return _result(await agent.ainvoke(given, config, context=context), agent.name)

    return node


def _check_node(agent: object, task: object) -> None:
    if not isinstance(agent, CompiledStateGraph):
        raise HeadwayError(f"agent should be what build_agent() returns, not {agent!r:.80}")
    if not callable(task):
        raise HeadwayError(f"task should be a function of the parent's state, not {task!r:.80}")


def _asked(task: Task, state: Any) -> str:
    text: object = task(state)
    if not isinstance(text, str) or not text.strip():
        raise HeadwayError(f"the task is empty: the node's task(state) gave {text!r:.80}, no text")
    return text


def _result(values: Any, name: str | None) -> Update:
    outcome = values["outcome"]
    answer = AIMessage(str(values["messages"][-1].text), name=name)
    return {"messages": [answer], "outcome": outcome}


def remote_node(
    remote: RemoteGraph, *, task: Task = newest_request
) -> Callable[[Any, RunnableConfig], Update]:
    """A served headway as a node that can be resumed: its interrupts are the parent's, and a step
    that is run again after a crash goes on with what it had sent (a bare RemoteGraph re-sends its
    input for ever). Its conversation is the thread `remote_thread` of the server."""

    def node(state: Any, config: RunnableConfig) -> Update:
        given = config["configurable"]
        name, sent = str(config["metadata"]["langgraph_node"]), _id_of(given["checkpoint_ns"])
        thread = _address(remote_thread(str(given.get("thread_id", sent)), name))
        request = {"role": "user", "content": _asked(task, state), "id": sent}
        values = _answered(remote, thread, _started(remote, thread, request))
        messages = convert_to_messages(values["messages"])
        return {"messages": [messages[-1]], "outcome": values.get("outcome")}

    return node


def remote_thread(thread_id: str, node: str) -> str:
    """The server's thread for a node of the parent's thread; a UUID, because some servers take
    nothing else."""
    return _id_of(f"{thread_id}/{node}")


def _started(remote: RemoteGraph, thread: RunnableConfig, request: Mapping[str, Any]) -> Any:
    """The values after the request, which is sent once: its id is the parent's task's."""
    head = _head(remote, thread)
    known = convert_to_messages(head.values.get("messages", [])) if head else []
    if head is None or all(message.id != request["id"] for message in known):
        return remote.invoke({"messages": [request]}, thread)
    unfinished = head.next and not head.interrupts
    return remote.invoke(None, thread) if unfinished else head.values


def _answered(remote: RemoteGraph, thread: RunnableConfig, values: Any) -> Any:
    """The values after the parent's answers to all that the server asks. LangGraph gives a step
    that is run again its answers in order: those that the server had are passed over."""
    head = _head(remote, thread)
    used = _answers_used(head)
    for _ in range(used):
        interrupt(None)
    while head is not None and head.interrupts:
        answer: Any = Command(resume=interrupt(head.interrupts[0].value))
        used += 1
        values = remote.invoke(answer, {**thread, "metadata": {ANSWERS: used}})
        head = _head(remote, thread)
    return values


def _answers_used(head: StateSnapshot | None) -> int:
    metadata: Any = head.metadata if head else None
    return int((metadata or {}).get(ANSWERS, 0))


def _head(remote: RemoteGraph, config: RunnableConfig) -> StateSnapshot | None:
    """The newest state, in the one form that every server answers for an empty thread too; None
    where there is none yet."""
    try:
        return next(iter(remote.get_state_history(config, limit=1)), None)
    except NotFoundError:
        return None


def _address(thread_id: str) -> RunnableConfig:
    return {"configurable": {"thread_id": thread_id}}


def _id_of(text: str) -> str:
    return str(uuid.uuid5(uuid.NAMESPACE_OID, text))
