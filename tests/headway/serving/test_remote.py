"""A served headway as a node of a local graph: answers, questions, and steps that are run again."""

import operator
import uuid
from collections.abc import Iterator
from typing import Annotated, Any

import pytest
from langchain_core.messages import AIMessage
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, StateGraph
from langgraph.pregel.remote import RemoteGraph
from langgraph.types import Command
from langgraph_sdk import get_sync_client
from serving_support import Served
from typing_extensions import TypedDict

from headway.embed import remote_node, remote_thread


class State(TypedDict):
    messages: Annotated[list[Any], operator.add]
    outcome: Annotated[dict[str, Any], operator.or_]


@pytest.fixture
def remote(served: Served) -> Iterator[RemoteGraph]:
    with get_sync_client(url=served.url) as client:
        yield RemoteGraph("headway", url=served.url, sync_client=client)


@pytest.fixture
def config() -> Any:
    return {"configurable": {"thread_id": f"parent {uuid.uuid4().hex}"}}


def parent(remote: RemoteGraph, *names: str) -> Any:
    graph = StateGraph(State)
    for name in names:
        graph.add_node(name, remote_node(remote))
        graph.add_edge(START, name)
    return graph.compile(checkpointer=InMemorySaver())


def asks(*lines: str) -> Any:
    return {"messages": [{"role": "user", "content": "\n".join(lines)}]}


def test_it_returns_the_answer_and_the_outcome_turn_by_turn(
    served: Served, remote: RemoteGraph, config: Any
) -> None:
    graph = parent(remote, "remote")
    graph.invoke(asks("say: one"), config)
    values = graph.invoke(asks("bash: echo 1 >> log", "say: two"), config)
    assert [m.content for m in values["messages"] if isinstance(m, AIMessage)] == ["one", "two"]
    assert values["outcome"]["status"] == "completed"
    thread = remote_thread(config["configurable"]["thread_id"], "remote")
    assert (served.workspace(thread) / "log").read_text() == "1\n"


def test_its_questions_are_the_parents_and_each_answer_reaches_it(
    served: Served, remote: RemoteGraph, config: Any
) -> None:
    graph = parent(remote, "remote")
    values = graph.invoke(asks("ask: red?", "bash: echo 1 >> log", "ask: blue?", "say: x"), config)
    for question in ("red?", "blue?"):
        (asked,) = values["__interrupt__"]
        assert asked.value["action_requests"][0]["args"] == {"question": question}
        answer = {"decisions": [{"type": "respond", "message": f"yes {question}"}]}
        values = graph.invoke(Command(resume=answer), config)
    assert values["messages"][-1].content == "x"
    thread = remote_thread(config["configurable"]["thread_id"], "remote")
    assert (served.workspace(thread) / "log").read_text() == "1\n"
    address: Any = {"configurable": {"thread_id": thread}}
    kept = remote.get_state(address).values["messages"]
    told = [m["content"] for m in kept if m["type"] == "tool"]
    assert "yes red?" in told[0]
    assert "yes blue?" in told[2]


def test_a_parent_without_threads_has_a_new_conversation_each_time(remote: RemoteGraph) -> None:
    graph = StateGraph(State).add_node("remote", remote_node(remote)).add_edge(START, "remote")
    values = graph.compile().invoke(asks("say: alone"))
    assert values["messages"][-1].content == "alone"


def test_two_nodes_have_two_conversations(remote: RemoteGraph, config: Any) -> None:
    values = parent(remote, "left", "right").invoke(asks("bash: pwd", "say: done"), config)
    assert [m.content for m in values["messages"][1:]] == ["done", "done"]


def test_a_step_that_is_run_again_sends_neither_task_nor_answer_twice(
    served: Served, remote: RemoteGraph, config: Any
) -> None:
    """The parent dies behind the remote run, before its own step is saved."""
    lives: list[Any] = []
    node = remote_node(remote)

    def dying(state: Any, config: RunnableConfig) -> Any:
        update = node(state, config)
        lives.append(update)
        if len(lives) == 1:
            raise ConnectionError("the parent dies")
        return update

    graph = StateGraph(State).add_node("remote", dying).add_edge(START, "remote")
    compiled = graph.compile(checkpointer=InMemorySaver())
    compiled.invoke(asks("ask: red?", "bash: echo 1 >> log", "say: once"), config)
    answer: Any = {"decisions": [{"type": "respond", "message": "yes"}]}
    with pytest.raises(ConnectionError):
        compiled.invoke(Command(resume=answer), config)
    values = compiled.invoke(None, config)
    assert values["messages"][-1].content == "once"
    thread = remote_thread(config["configurable"]["thread_id"], "remote")
    assert (served.workspace(thread) / "log").read_text() == "1\n"
