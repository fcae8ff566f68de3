"""headway as a node: what goes in and comes out, context, limits, failures."""

import operator
from dataclasses import dataclass
from typing import Annotated, Any

import pytest
from embedding_support import THREAD, add, adder, parent_of, texts
from langchain_core.callbacks import UsageMetadataCallbackHandler
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, MessagesState, StateGraph
from typing_extensions import TypedDict

from headway import Context, Limits, build_agent
from headway.embed import answer_node, async_answer_node
from headway.testing import PolicyModel
from policies import call, each_time, replies


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


def test_a_child_with_memory_of_its_own_keeps_its_turns() -> None:
    kid = build_agent(each_time(lambda n: f"answer {n}"), tools=[], name="kid", checkpointer=True)
    graph = parent_of(kid, checkpointer=InMemorySaver())
    graph.invoke({"messages": [HumanMessage("a")]}, THREAD)
    result = graph.invoke({"messages": [HumanMessage("b")]}, THREAD)
    assert texts(result) == ["a", "answer 0", "b", "answer 1"]
