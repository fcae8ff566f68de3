"""Arguments of a wrong type or value: one line that names them, before any model call."""

from pathlib import Path
from typing import Any

import pytest
from langgraph.checkpoint.memory import InMemorySaver

from headway import Limits, build_agent, run_agent
from headway.embed import answer_node, async_answer_node
from headway.testing import ScriptedModel
from headway_tools.bash import bash_tool
from headway_tools.errors import HeadwayError
from headway_tools.read_file import read_file_tool

MODEL = ScriptedModel([{"content": "hello"}])


def undescribed(a: int) -> int:
    return a


WRONG: list[tuple[dict[str, Any], str]] = [
    ({"limits": {"model_calls": 0}}, "limits.model_calls should be greater than or equal to 1"),
    ({"limits": {"model_calls": 0, "seconds": -1}}, "limits.model_calls should be .* 1, not 0$"),
    ({"limits": {"modelcalls": 1}}, "there is no option 'limits.modelcalls'"),
    ({"limits": 3}, "limits should be .* Limits, not 3"),
    ({"tools": [3]}, "a tool is a LangChain tool or a function, not 3"),
    ({"tools": ["bash"]}, "a tool is a LangChain tool or a function, not 'bash'"),
    ({"tools": "bash"}, "tools takes a list of tools and functions, not 'bash'"),
    ({"tools": undescribed}, "tools takes a list of tools and functions, not <function"),
    ({"tools": [undescribed]}, "undescribed is no tool: Function must have a docstring"),
    ({"model": 5}, "model takes a chat model or 'provider:name', not 5"),
    ({"model": ScriptedModel}, "model takes a chat model"),
    ({"model": MODEL.with_retry()}, "model takes a chat model"),
    ({"checkpointer": True}, "checkpointer should be an opened saver"),
    ({"checkpointer": InMemorySaver}, "checkpointer should be an opened saver"),
    ({"task": {"messages": []}}, "task should be a text"),
    ({"thread_id": 5}, "thread_id should be a text, not 5"),
    ({"thread_id": ""}, "the thread_id is empty"),
    ({"branch": 5}, "branch should be a text, not 5"),
    ({"name": 5}, "name should be a text, not 5"),
    ({"modle": "x"}, "there is no option 'modle'"),
    ({"workspace": 5}, "workspace .* not 5"),
    ({"workspace": "/nope"}, "^workspace /nope does not exist: name an existing folder$"),
    ({"protect": "a.txt"}, "protect .* not 'a.txt'"),
    ({"protect": [3]}, "protect.0 should be a valid string, not 3"),
    ({"check": ["make"]}, "check should be a valid string"),
    ({"verify": "make"}, "verify should be callable, not 'make'"),
    ({"price": 5}, "price should be a valid tuple, not 5"),
    ({"retries": 5}, "retries should be .* RetryPolicy, not 5"),
    ({"sandbox": "docker"}, "sandbox should be 'bubblewrap' or 'none', not 'docker'"),
    ({"allow": ["nosuch(x)"]}, r"allow rule 'nosuch\(x\)': there is no tool nosuch; there is none"),
    (
        {"allow": ["read_fil"], "tools": [read_file_tool(), bash_tool()]},
        "there is no tool read_fil; there is read_file",
    ),
    ({"allow": ["curl"], "tools": [bash_tool()]}, "there is no tool curl; there is bash"),
    ({"ask": "sometimes"}, "ask should be 'never', 'edits' or 'all', not 'sometimes'"),
    ({"on_stop": "halt"}, "on_stop should be 'return' or 'ask', not 'halt'"),
    ({"network": "perhaps"}, "network should be a valid boolean"),
    ({"response_format": {"a": 1}}, "response_format should be a subclass of BaseModel"),
    ({"storage": 5}, "storage should be an instance of Storage, not 5"),
    ({"instructions": 5}, "instructions should be a valid string, not 5"),
]


@pytest.mark.parametrize(("given", "words"), WRONG)
def test_a_wrong_argument_is_named_in_one_line(given: Any, words: str) -> None:
    arguments: Any = {"task": "say hello", "model": MODEL, "memory": True, **given}
    with pytest.raises(HeadwayError, match=words) as caught:
        run_agent(**arguments)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("given", [{"api_key": ["sk-1"]}, {"model_args": [("api_key", "sk-1")]}])
def test_what_may_hold_a_key_is_not_quoted(given: Any) -> None:
    with pytest.raises(HeadwayError, match=next(iter(given))) as caught:
        build_agent(MODEL, **given)
    assert "sk-1" not in str(caught.value)


def test_a_mapping_will_do_for_limits(workspace: Path) -> None:
    given: Any = {"limits": {"model_calls": 1}}
    done = run_agent("say hello", model=MODEL, workspace=workspace, **given)
    assert (done.status, done.limits["model_calls"]) == ("completed", 1)
    again = run_agent("say hello", model=MODEL, limits=Limits(model_calls=1), memory=True)
    assert again.limits == done.limits


@pytest.mark.parametrize("make", [answer_node, async_answer_node])
def test_a_node_needs_an_agent_and_a_function(make: Any) -> None:
    with pytest.raises(HeadwayError, match="agent should be what build_agent"):
        make(MODEL)
    with pytest.raises(HeadwayError, match="task should be a function"):
        make(build_agent(MODEL), task="say hello")


@pytest.mark.parametrize("text", ["", " \n", None, 5])
async def test_a_node_refuses_an_empty_task(text: Any) -> None:
    agent, state = build_agent(MODEL), {"messages": [("user", "hello")]}
    with pytest.raises(HeadwayError, match="the task is empty"):
        answer_node(agent, task=lambda state: text)(state, {})
    with pytest.raises(HeadwayError, match="the task is empty"):
        await async_answer_node(agent, task=lambda state: text)(state, {})
