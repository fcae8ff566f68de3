"""PostgreSQL as checkpointer: what JSONB refuses, pools, workers that die or fall asleep."""

import os
import secrets
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import psycopg
import pytest
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage
from langchain_core.runnables import RunnableConfig
from langgraph.types import Command
from psycopg.conninfo import make_conninfo

from headway import arun_agent, build_agent, run_agent
from headway.history import open_calls
from headway.postgres import async_postgres_saver, postgres_saver
from headway.testing import ScriptedModel
from headway_tools.errors import HeadwayError
from policies import bash, replies

pytestmark = pytest.mark.services

ODD = "nul \x00 lone \ud83d end"
GO: Any = {"messages": [("user", "go")]}
TESTS = Path(__file__).resolve().parents[1]


@pytest.fixture
def url() -> Iterator[str]:
    """A database of its own on the server that `.ci/services` started."""
    server = os.environ["HEADWAY_TEST_POSTGRES"]
    name = f"hw_{secrets.token_hex(6)}"
    with psycopg.connect(server, autocommit=True) as connection:
        connection.execute(f'CREATE DATABASE "{name}"')
        yield make_conninfo(server, dbname=name)
        connection.execute(f'DROP DATABASE "{name}" WITH (FORCE)')


def thread(thread_id: str = "t", **metadata: Any) -> RunnableConfig:
    return {"configurable": {"thread_id": thread_id}, "metadata": metadata}


ODD_SCRIPT: list[dict[str, Any]] = [
    {
        "content": ODD,
        "reasoning": ODD,
        "tool_calls": [
            {"id": ODD, "name": ODD, "args": {ODD: ODD}},
            {"id": "a", "name": "bash", "args": {"command": ODD}},
            {"id": "b", "name": "bash", "args": '{"command": "echo", "timeout": NaN}'},
            {"id": "c", "name": "bash", "args": f'{{"command": "echo", "timeout": {10**40}}}'},
            {"id": "d", "name": "bash", "args": {"command": "echo", "n": 10**40}},
            {"id": "e", "name": "bash", "args": {"command": r"printf 'a\0b\355\240\275c\377'"}},
            {"id": "f", "name": "bash", "args": {"command": r"touch $'odd\377\355\240\275'"}},
        ],
        "usage": {"prompt_tokens": 10**30, "completion_tokens": -1},
    },
    {"content": f"done {ODD}", "usage": {"prompt_tokens": 2**63}},
]


@pytest.mark.parametrize("how", ["sync", "async"])
async def test_no_odd_string_number_or_name_breaks_a_write(
    url: str, workspace: Path, how: str
) -> None:
    metadata = {"nan": float("nan"), "lone": ODD, "huge": 10**40, ODD: ODD, "at": Path("/x")}
    config = thread("ünï ☃ 'quoted\" \\ %s", **metadata)
    config["configurable"] |= {"mine": ODD, "rate": float("inf")}
    model = ScriptedModel(ODD_SCRIPT)
    odd = HumanMessage(f"go {ODD}", name=ODD, additional_kwargs={ODD: 10**40})
    given: Any = {"messages": [odd]}
    if how == "sync":
        with postgres_saver(url) as saver:
            agent = build_agent(model, workspace=workspace, checkpointer=saver)
            values: Any = agent.invoke(given, config)
            stored = agent.get_state(config).values["messages"]
    else:
        async with async_postgres_saver(url) as saver_:
            agent = build_agent(model, workspace=workspace, checkpointer=saver_)
            values = await agent.ainvoke(given, config)
            stored = (await agent.aget_state(config)).values["messages"]
    assert values["outcome"]["status"] == "completed"
    assert len(stored) == len(values["messages"]) == 10
    assert [m.id for m in stored] == [m.id for m in values["messages"]]


def test_a_question_about_odd_arguments_waits_and_is_answered(url: str, workspace: Path) -> None:
    model = replies(bash("printf 'é ☃' > made"), "done")
    with postgres_saver(url) as saver:
        agent = build_agent(model, workspace=workspace, checkpointer=saver, ask="all")
        (asked,) = agent.invoke(GO, thread())["__interrupt__"]
    edited = {"name": "bash", "args": {"command": f"printf other > made # {ODD}"}}
    answer: Any = {asked.id: {"decisions": [{"type": "edit", "edited_action": edited}]}}
    with postgres_saver(url) as saver:
        agent = build_agent(model, workspace=workspace, checkpointer=saver, ask="all")
        again: Any = agent.invoke(Command(resume=answer), thread())["__interrupt__"]
        assert "cannot run" in again[0].value["error"]
        approved: Any = {again[0].id: {"decisions": [{"type": "approve"}]}}
        values: Any = agent.invoke(Command(resume=approved), thread())
    assert values["outcome"]["status"] == "completed"


@pytest.mark.parametrize("thread_id", ["nul \x00", "lone \ud83d"])
def test_a_thread_id_that_cannot_be_stored_is_refused_before_anything_runs(
    url: str, workspace: Path, thread_id: str
) -> None:
    with postgres_saver(url) as saver:
        agent = build_agent(replies("never"), workspace=workspace, checkpointer=saver)
        with pytest.raises(HeadwayError, match="thread id"):
            agent.invoke(GO, thread(thread_id))


def test_threads_run_side_by_side_over_one_pool(url: str, workspace: Path) -> None:
    with postgres_saver(url) as saver, ThreadPoolExecutor(16) as pool:
        agent = build_agent(replies(bash("true"), "done"), workspace=workspace, checkpointer=saver)

        def run(n: int) -> str:
            values: Any = agent.invoke(GO, thread(f"t{n}"))
            return str(values["outcome"]["status"])

        assert list(pool.map(run, range(32))) == ["completed"] * 32


def test_processes_that_start_at_once_make_the_tables_once(url: str) -> None:
    code = "import sys; from headway.postgres import postgres_saver\n"
    code += "with postgres_saver(sys.argv[1]) as saver: print(saver.get_tuple("
    code += "{'configurable': {'thread_id': 'x'}}))"
    started = [
        subprocess.Popen([sys.executable, "-c", code, url], stdout=subprocess.PIPE, text=True)
        for _ in range(4)
    ]
    assert [process.communicate()[0] for process in started] == ["None\n"] * 4


@pytest.mark.parametrize("how", ["sync", "async"])
async def test_run_agent_keeps_its_threads_where_the_environment_says(
    url: str, workspace: Path, own_home: Path, monkeypatch: pytest.MonkeyPatch, how: str
) -> None:
    monkeypatch.setenv("HEADWAY_POSTGRES", url)
    model = replies("first", "second")
    if how == "sync":
        run_agent("one", model=model, workspace=workspace, thread_id="t")
        result = run_agent("two", model=model, workspace=workspace, thread_id="t")
    else:
        await arun_agent("one", model=model, workspace=workspace, thread_id="t")
        result = await arun_agent("two", model=model, workspace=workspace, thread_id="t")
    assert result.answer == "second"
    assert not (own_home / "checkpoints.sqlite").exists()


@pytest.mark.parametrize(
    "address", ["postgresql://me:hunter2hunter2@127.0.0.1:1/x", "postgresql://[", "nonsense"]
)
def test_an_address_without_a_server_is_one_clear_error(
    workspace: Path, monkeypatch: pytest.MonkeyPatch, address: str
) -> None:
    monkeypatch.setenv("HEADWAY_POSTGRES", address)
    with pytest.raises(HeadwayError, match="check HEADWAY_POSTGRES") as caught:
        run_agent("x", model=replies("x"), workspace=workspace)
    assert "hunter2" not in str(caught.value)
    assert "\n" not in str(caught.value)


def worker(
    url: str, workspace: Path, verb: str, slow: str, how: str = "graph"
) -> "subprocess.Popen[str]":
    path = os.pathsep.join([str(TESTS), os.environ.get("PYTHONPATH", "")])
    return subprocess.Popen(
        [sys.executable, str(Path(__file__).with_name("postgres_worker.py")), url,
         str(workspace), how, verb, slow],
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": path},
    )  # fmt: skip


def wait_until_slow(workspace: Path, slow: str) -> None:
    """Until the worker is in its slow call of the tool or of the model."""
    for _ in range(1200):
        log = workspace / "log"
        if slow == "tool" and log.exists() and "before" in log.read_text():
            return
        if (workspace / "asked").exists():
            return
        time.sleep(0.05)
    raise AssertionError("the worker did not come so far")


def history(url: str, workspace: Path) -> tuple[list[Any], tuple[str, ...]]:
    with postgres_saver(url) as saver:
        agent = build_agent(replies("x"), workspace=workspace, checkpointer=saver)
        state = agent.get_state(thread("shared"))
        return state.values["messages"], state.next


@pytest.mark.parametrize("slow", ["tool", "model"])
@pytest.mark.parametrize("signal_", [signal.SIGKILL, signal.SIGSTOP], ids=["killed", "stopped"])
def test_another_worker_takes_over_and_nothing_is_silently_repeated(
    url: str, workspace: Path, slow: str, signal_: signal.Signals
) -> None:
    first = worker(url, workspace, "START", slow)
    wait_until_slow(workspace, slow)
    first.send_signal(signal_)
    second = worker(url, workspace, "RESUME", "nowhere")
    assert second.communicate(timeout=120)[0] == "completed"
    taken_over = history(url, workspace)

    first.send_signal(signal.SIGCONT)
    said = first.communicate(timeout=120)[0]
    assert said == ("overtaken" if signal_ == signal.SIGSTOP else "")
    messages, following = history(url, workspace)
    assert (messages, following) == taken_over, "whoever wakes late changes nothing"
    assert following == ()
    assert messages[-1].text == "done by nowhere"
    assert open_calls(messages).calls == []

    assert (workspace / "log").read_text().count("quick\n") == 1
    assert (workspace / "log").read_text().count("before\n") == 1
    last = [m for m in messages if isinstance(m, ToolMessage)][-1]
    assert ("it may have run" in str(last.content)) == (slow == "tool")
    assert sum(isinstance(m, AIMessage) for m in messages) == 3


@pytest.mark.parametrize("slow", ["tool", "model"])
def test_run_agent_goes_on_with_the_thread_of_a_killed_process(
    url: str, workspace: Path, slow: str
) -> None:
    first = worker(url, workspace, "START", slow, "run_agent")
    wait_until_slow(workspace, slow)
    first.kill()
    first.communicate()
    second = worker(url, workspace, "RESUME", "nowhere", "run_agent")
    assert second.communicate(timeout=120)[0] == "completed"
    messages, following = history(url, workspace)
    assert (following, messages[-1].text) == ((), "done by nowhere")
    log = (workspace / "log").read_text()
    assert (log.count("quick\n"), log.count("before\n")) == (1, 1)
    assert ("it may have run" in str(messages)) == (slow == "tool")


def test_run_agent_is_refused_while_another_process_sleeps_which_then_finishes(
    url: str, workspace: Path
) -> None:
    """A stopped process keeps its lock of the run, so nothing has to be taken from it."""
    first = worker(url, workspace, "START", "tool", "run_agent")
    wait_until_slow(workspace, "tool")
    first.send_signal(signal.SIGSTOP)
    second = worker(url, workspace, "RESUME", "nowhere", "run_agent")
    assert f"is busy: process {first.pid}" in second.communicate(timeout=120)[0]
    first.send_signal(signal.SIGCONT)
    assert first.communicate(timeout=120)[0] == "completed"
    messages, following = history(url, workspace)
    assert (following, messages[-1].text) == ((), "done by tool")
    assert (workspace / "log").read_text() == "quick\nbefore\nafter\n"
