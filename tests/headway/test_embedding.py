"""headway inside larger graphs: schemas, limits, failures, interrupts, parallel, streams."""

import operator
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import pytest
from langchain_core.callbacks import UsageMetadataCallbackHandler
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.types import Command, Send
from langgraph_supervisor import create_supervisor
from langgraph_swarm import create_handoff_tool, create_swarm
from typing_extensions import TypedDict

from headway import Context, Limits, build_agent
from headway.embed import answer_node, async_answer_node
from headway.history import problems
from headway.testing import PolicyModel
from headway_tools.errors import HeadwayError
from policies import bash, call, each_time, replies

THREAD: Any = {"configurable": {"thread_id": "t"}}


def add(a: int, b: int) -> int:
    """Add."""
    return a + b


def adder(**options: Any) -> Any:
    return build_agent(replies(call("add", a=1, b=2), "3"), tools=[add], name="adder", **options)


class Parent(MessagesState):
    status: int
    outcome: str


def parent_of(node: Any, schema: Any = Parent, **compile_options: Any) -> Any:
    graph = StateGraph(schema).add_node("kid", node)
    graph.add_edge(START, "kid").add_edge("kid", END)
    return graph.compile(**compile_options)


def texts(result: dict[str, Any]) -> list[str]:
    return [str(message.text) for message in result["messages"]]


@pytest.mark.parametrize("saver", [None, InMemorySaver()], ids=["no saver", "memory"])
def test_shared_messages_go_in_and_come_out_and_private_keys_stay(saver: Any) -> None:
    result = parent_of(adder(), checkpointer=saver).invoke(
        {"messages": [HumanMessage("1+2")], "status": 7}, THREAD
    )
    assert texts(result) == ["1+2", "", "3", "3"]
    assert result["status"] == 7
    assert not [key for key in result if key.startswith("hw_")]


def test_a_second_turn_of_the_parent_starts_a_new_run() -> None:
    kid = build_agent(each_time(lambda n: f"answer {n}"), tools=[], name="kid")
    graph = parent_of(kid, checkpointer=InMemorySaver())
    graph.invoke({"messages": [HumanMessage("a")]}, THREAD)
    result = graph.invoke({"messages": [HumanMessage("b")]}, THREAD)
    assert texts(result) == ["a", "answer 0", "b", "answer 1"]


class Question(TypedDict):
    messages: Annotated[list[BaseMessage], operator.add]
    question: str
    outcome: dict[str, Any]


def test_the_adapter_returns_only_the_answer_and_the_outcome() -> None:
    node = answer_node(adder(), task=lambda state: state["question"])
    result = parent_of(node, Question).invoke({"question": "1+2", "messages": []})
    assert texts(result) == ["3"]
    assert result["outcome"]["status"] == "completed"
    assert result["outcome"]["usage"]["tool_calls"] == 1
    assert result["outcome"]["thread"] is None


def test_the_outcome_names_the_parents_thread() -> None:
    agent = adder(limits=Limits(model_calls=1))
    result = parent_of(answer_node(agent), checkpointer=InMemorySaver()).invoke(
        {"messages": [HumanMessage("1+2")]}, THREAD
    )
    assert (result["outcome"]["status"], result["outcome"]["thread"]) == ("limit", "t")


async def test_the_adapter_for_asynchronous_parents() -> None:
    node = async_answer_node(adder(), task=lambda state: state["question"])
    result = await parent_of(node, Question).ainvoke({"question": "1+2", "messages": []})
    assert texts(result) == ["3"]


@dataclass
class ParentContext:
    color: str = "red"
    headway: Context | None = None


@pytest.mark.parametrize(
    ("context", "calls"),
    [
        (None, 3),
        ({"limits": {"model_calls": 2}}, 2),
        (ParentContext(), 3),
        (ParentContext(headway=Context(limits=Limits(model_calls=2))), 2),
        (Context(limits=Limits(model_calls=50)), 3),
    ],
    ids=["none", "dict", "a parent's own", "nested", "above the ceiling"],
)
def test_every_form_of_context_is_understood_and_capped(context: Any, calls: int) -> None:
    kid = build_agent(
        each_time(lambda n: call("add", f"c{n}", a=n, b=n)),
        tools=[add],
        limits=Limits(model_calls=3),
    )
    graph = StateGraph(MessagesState, context_schema=type(context) if context else None)
    graph.add_node("kid", answer_node(kid, context=None) if context is None else kid)
    compiled = graph.add_edge(START, "kid").compile()
    result = compiled.invoke({"messages": [HumanMessage("x")]}, context=context)
    seen = sum(isinstance(m, AIMessage) and bool(m.tool_calls) for m in result["messages"])
    assert seen in (calls, 0 if context is None else calls)


def test_a_wrong_context_is_refused_before_any_model_call() -> None:
    asked: list[int] = []
    model = each_time(lambda n: (asked.append(n), "x")[1])
    with pytest.raises(ValueError, match="model_calls"):
        build_agent(model, tools=[]).invoke(
            {"messages": [HumanMessage("x")]}, context={"limits": {"model_calls": 0}}
        )
    assert not asked


def test_a_failing_endpoint_is_an_outcome_for_the_parent() -> None:
    def policy(messages: list[BaseMessage], tools: list[dict[str, Any]]) -> AIMessage:
        raise ValueError("bad request")

    node = answer_node(build_agent(PolicyModel(policy=policy), tools=[]))
    result = parent_of(node, Question).invoke({"question": "", "messages": [HumanMessage("x")]})
    assert result["outcome"]["status"] == "model_error"


@pytest.mark.parametrize("limit", [5, 6, 7, 8, 10, 12, 15, 20, 33])
def test_it_returns_before_the_parents_recursion_limit(limit: int) -> None:
    kid = build_agent(each_time(lambda n: call("add", f"c{n}", a=n, b=n)), tools=[add])
    graph = StateGraph(Question)
    graph.add_node("kid", answer_node(kid)).add_node("after", lambda state: {"question": "after"})
    graph.add_edge(START, "kid").add_edge("kid", "after")
    result = graph.compile().invoke(
        {"messages": [HumanMessage("x")], "question": ""}, {"recursion_limit": limit}
    )
    assert result["outcome"]["status"] in ("limit", "no_progress")
    assert result["question"] == "after"


class Spread(TypedDict):
    folders: list[str]
    messages: Annotated[list[BaseMessage], operator.add]


def test_instances_side_by_side_keep_folders_and_interrupts_apart(tmp_path: Path) -> None:
    for name in ("one", "two"):
        (tmp_path / name).mkdir()

    def work(state: dict[str, Any], config: RunnableConfig) -> dict[str, Any]:
        folder = Path(state["folder"])
        model = replies(bash(f"echo {folder.name} >> made.txt"), f"{folder.name} done")
        agent = build_agent(model, workspace=folder, ask="edits", name=folder.name)
        return answer_node(agent)({"messages": [HumanMessage("go")]}, config)

    graph = StateGraph(Spread).add_node("work", work)
    graph.add_conditional_edges(
        START, lambda s: [Send("work", {"folder": f}) for f in s["folders"]], ["work"]
    )
    compiled = graph.compile(checkpointer=InMemorySaver())
    folders = [str(tmp_path / "one"), str(tmp_path / "two")]
    waiting = compiled.invoke({"folders": folders, "messages": []}, THREAD)["__interrupt__"]
    assert len(waiting) == 2
    assert not list(tmp_path.rglob("made.txt"))

    by_command = {i.value["action_requests"][0]["args"]["command"]: i.id for i in waiting}
    approve, reject = {"decisions": [{"type": "approve"}]}, {"decisions": [{"type": "reject"}]}
    result = compiled.invoke(
        Command(
            resume={
                by_command["echo one >> made.txt"]: approve,
                by_command["echo two >> made.txt"]: reject,
            }
        ),
        THREAD,
    )
    assert sorted(texts(result)) == ["one done", "two done"]
    assert (tmp_path / "one" / "made.txt").read_text() == "one\n"
    assert not (tmp_path / "two" / "made.txt").exists()


def test_inner_nodes_and_state_are_visible_to_the_parent(workspace: Path) -> None:
    kid = build_agent(replies(bash("ls"), "ok"), workspace=workspace, ask="all")
    graph = parent_of(kid, checkpointer=InMemorySaver())
    parts = list(
        graph.stream(
            {"messages": [HumanMessage("x")]}, THREAD, stream_mode="updates", subgraphs=True
        )
    )
    assert {node for ns, update in parts if ns for node in update} >= {"enter", "agent"}
    inner = graph.get_state(THREAD, subgraphs=True).tasks[0].state
    assert inner.next == ("approve",)
    assert inner.values["messages"][-1].tool_calls


def test_a_fork_inside_a_finished_child_is_refused_instead_of_losing_its_edit() -> None:
    graph = parent_of(adder(), checkpointer=InMemorySaver())
    done = graph.invoke({"messages": [HumanMessage("1+2")]}, THREAD)
    before = next(state for state in graph.get_state_history(THREAD) if state.next == ("kid",))
    child = before.tasks[0].state
    step = next(s for s in graph.get_state_history(child) if s.next == ("agent",))
    fork = graph.update_state(step.config, {"messages": [HumanMessage("2+2")]}, as_node="enter")
    for config in (fork, step.config):
        with pytest.raises(HeadwayError, match="kid has finished.*fork the parent"):
            graph.invoke(None, config)

    edited = {"messages": [HumanMessage("2+2", id=before.values["messages"][0].id)]}
    beside = graph.update_state(before.config, edited, as_node="__start__")
    assert texts(graph.invoke(None, beside)) == ["2+2", *texts(done)[1:]]


def test_the_team_of_a_finished_child_is_refused_too() -> None:
    team = parent_of(adder())
    graph = StateGraph(Parent).add_node("team", team).add_edge(START, "team")
    parent = graph.compile(checkpointer=InMemorySaver())
    parent.invoke({"messages": [HumanMessage("1+2")]}, THREAD)
    before = next(state for state in parent.get_state_history(THREAD) if state.next == ("team",))
    child: Any = before.tasks[0].state
    step = next(s for s in parent.get_state_history(child) if s.next == ("kid",))
    with pytest.raises(HeadwayError, match="team has finished"):
        parent.invoke(None, step.config)


def test_a_child_that_waits_can_be_edited_and_continued(workspace: Path) -> None:
    kid = build_agent(replies(bash("echo 1 > made"), "done"), workspace=workspace, ask="all")
    graph = parent_of(kid, checkpointer=InMemorySaver())
    graph.invoke({"messages": [HumanMessage("go")]}, THREAD)
    child = graph.get_state(THREAD, subgraphs=True).tasks[0].state
    message = child.values["messages"][-1]
    edited = message.model_copy(update={"tool_calls": [bash("echo 2 > made")]})
    graph.update_state(child.config, {"messages": [edited]}, as_node="agent")
    (asked,) = graph.invoke(None, THREAD)["__interrupt__"]
    answer = {"decisions": [{"type": "approve"}]}
    graph.invoke(Command(resume={asked.id: answer}), THREAD)
    assert (workspace / "made").read_text() == "2\n"


def test_usage_and_tags_reach_the_parents_callbacks() -> None:
    reply = AIMessage(
        "3",
        usage_metadata={"input_tokens": 5, "output_tokens": 2, "total_tokens": 7},
        response_metadata={"model_name": "m"},
    )
    handler = UsageMetadataCallbackHandler()
    parent_of(build_agent(replies(reply), tools=[])).invoke(
        {"messages": [HumanMessage("x")]}, {"callbacks": [handler]}
    )
    assert handler.usage_metadata["m"]["total_tokens"] == 7


def supervised(kid: Any, mode: str) -> Any:
    def boss(messages: list[BaseMessage], tools: list[dict[str, Any]]) -> AIMessage:
        if any(isinstance(m, AIMessage) and m.tool_calls for m in messages):
            return AIMessage("the sum is 3")
        return AIMessage("", tool_calls=[call("transfer_to_adder", "t1")])

    model = PolicyModel(policy=boss)
    return create_supervisor([kid], model=model, output_mode=mode).compile()


@pytest.mark.filterwarnings("ignore:create_react_agent has been moved")
@pytest.mark.parametrize("mode", ["last_message", "full_history"])
def test_a_supervisor_hands_over_and_the_request_is_valid(mode: str) -> None:
    seen: list[list[str]] = []

    def policy(messages: list[BaseMessage], tools: list[dict[str, Any]]) -> AIMessage:
        seen.append(problems(messages))
        done = any(m.type == "tool" and m.name == "add" for m in messages)
        return AIMessage("3") if done else AIMessage("", tool_calls=[call("add", a=1, b=2)])

    kid = build_agent(PolicyModel(policy=policy), tools=[add], name="adder")
    result = supervised(kid, mode).invoke({"messages": [HumanMessage("1+2")]})
    assert result["messages"][-1].text == "the sum is 3"
    assert seen == [[], []]


@pytest.mark.parametrize("extra", [[], [call("add", "a1", a=1, b=2)]], ids=["alone", "two calls"])
def test_a_hand_off_in_a_swarm_leaves_a_valid_history(extra: list[Any]) -> None:
    first = build_agent(
        replies([*extra, call("transfer_to_second", "h1")]),
        tools=[add, create_handoff_tool(agent_name="second")],
        name="first",
    )
    second = build_agent(
        replies("x", "second here"), tools=[create_handoff_tool(agent_name="first")], name="second"
    )
    graph = create_swarm([first, second], default_active_agent="first").compile(
        checkpointer=InMemorySaver()
    )
    result = graph.invoke({"messages": [HumanMessage("who?")]}, THREAD)
    assert result["active_agent"] == "second"
    assert result["messages"][-1].text == "second here"
    assert problems([*result["messages"], HumanMessage("next")]) == []


def test_a_hand_off_without_a_parent_is_an_observation() -> None:
    agent = build_agent(
        replies(call("transfer_to_other", "h1"), "alone"),
        tools=[create_handoff_tool(agent_name="other")],
    )
    result = agent.invoke({"messages": [HumanMessage("x")]})
    assert "no other agent" in texts(result)[2]
    assert result["messages"][-1].text == "alone"


def test_it_is_a_tool_of_another_agent_too() -> None:
    kid = adder()

    def sums(question: str) -> str:
        """Answer a question about sums."""
        return str(kid.invoke({"messages": [HumanMessage(question)]})["messages"][-1].text)

    boss = build_agent(replies(call("sums", question="1+2"), "it is 3"), tools=[sums])
    result = boss.invoke({"messages": [HumanMessage("x")]})
    assert texts(result)[2:] == ["3", "it is 3"]


def test_a_child_with_memory_of_its_own_keeps_its_turns() -> None:
    kid = build_agent(each_time(lambda n: f"answer {n}"), tools=[], name="kid", checkpointer=True)
    graph = parent_of(kid, checkpointer=InMemorySaver())
    graph.invoke({"messages": [HumanMessage("a")]}, THREAD)
    result = graph.invoke({"messages": [HumanMessage("b")]}, THREAD)
    assert texts(result) == ["a", "answer 0", "b", "answer 1"]
