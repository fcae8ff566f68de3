"""RemoteGraph as a backend: the same functions over a development server on loopback."""

import json
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from debugger_support import texts
from langchain_core.messages import AIMessage, HumanMessage
from langgraph.pregel.remote import RemoteGraph
from langgraph.types import Command
from langgraph_sdk import get_sync_client

from headway_debugger.backend import Backend, address
from headway_debugger.compare import Side, diff
from headway_debugger.edits import human_edit, reply_edit, result_edit, task_edit
from headway_debugger.fork import continue_from, editable, fork
from headway_debugger.steps import Tokens, steps
from headway_debugger.tree import resolve
from headway_debugger.upkeep import delete, prune
from headway_debugger.views import state, tree
from headway_tools.errors import HeadwayError

pytestmark = pytest.mark.slow

GRAPH = """
from debugger_support import Plain, build
graph = build(None, Plain)
"""


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A `langgraph dev` of its own, stopped at the end."""
    folder = tmp_path_factory.mktemp("server")
    (folder / "served.py").write_text(GRAPH)
    config = {"dependencies": ["."], "graphs": {"looker": "./served.py:graph"}}
    (folder / "langgraph.json").write_text(json.dumps(config))
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    arguments = ["dev", "--no-browser", "--no-reload", "--host", "127.0.0.1", "--port", str(port)]
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parent)}
    with (folder / "log").open("wb") as log:
        server = subprocess.Popen(
            [sys.executable, "-m", "langgraph_cli", *arguments],
            cwd=folder,
            env=environment,
            stdout=log,
            stderr=log,
            start_new_session=True,
        )
    try:
        _wait(f"http://127.0.0.1:{port}/ok", server, folder / "log")
        yield f"http://127.0.0.1:{port}"
    finally:
        os.killpg(server.pid, signal.SIGTERM)
        server.wait(30)


def _wait(url: str, server: subprocess.Popen[bytes], log: Path) -> None:
    for _ in range(600):
        assert server.poll() is None, log.read_text()
        try:
            with urllib.request.urlopen(url, timeout=5):
                return
        except (urllib.error.URLError, OSError):
            time.sleep(0.2)
    raise AssertionError(log.read_text())


@pytest.fixture
def ran(url: str) -> Iterator[tuple[Backend, str]]:
    """A thread that asked once, was answered, and ended."""
    with get_sync_client(url=url) as client:
        graph = RemoteGraph("looker", url=url, sync_client=client)
        thread = client.threads.create()["thread_id"]
        graph.invoke({"messages": [{"role": "user", "content": "task"}]}, address(thread))
        graph.invoke(Command(resume="yes"), address(thread))
        yield Backend(graph), thread


def test_the_tree_and_its_steps_are_those_of_a_local_thread(ran: Any) -> None:
    backend, thread = ran
    found = tree(backend, thread)
    assert [node.name for node in found.nodes.values()] == [str(n) for n in range(9)]
    assert [node.writers for node in found.nodes.values()][1:4] == [
        ("__start__",), ("agent",), ("approve",)
    ]  # fmt: skip
    page = steps(backend, found, found.branches["main"].nodes)
    assert [step.tools for step in page][2:6] == [("look",), (), ("look",), ("look",)]
    assert page[2].tokens == Tokens(10, 5)
    assert page[-1].status == "ended"


def test_states_hold_message_objects(ran: Any) -> None:
    backend, thread = ran
    found = tree(backend, thread)
    messages = state(backend, found, resolve(found, "main"))["messages"]
    assert isinstance(messages[0], HumanMessage)
    assert isinstance(messages[1], AIMessage)
    assert texts(messages)[-1] == "task: seen0 seen1"


@pytest.mark.parametrize("step", ["0", "1", "3", "5", "7", "8"])
def test_a_fork_goes_on_as_its_original_did(ran: Any, step: str) -> None:
    backend, thread = ran
    original = tree(backend, thread)
    made = fork(backend, thread, resolve(original, step))
    backend.graph.invoke(None, address(thread, made.head))
    tip = tree(backend, thread).branches["b2"].tip
    if "interrupt" in tip.marks:
        backend.graph.invoke(Command(resume="yes"), continue_from(tree(backend, thread), "b2"))
    found = tree(backend, thread)
    sides = [Side(found, found.branches[name].tip) for name in ("main", "b2")]
    assert diff(backend, *sides).same
    assert [n.id for n in found.branches["main"].nodes] == list(original.nodes)


@pytest.mark.parametrize(
    ("step", "kind", "following"),
    [("0", "task", "agent"), ("2", "task", "approve"), ("4", "task", "agent"),
     ("7", "result", "agent"), ("8", "human", "agent"), ("2", "reply", None)],
)  # fmt: skip
def test_edits_count_and_lead_to_the_same_next_node(
    ran: Any, step: str, kind: str, following: str | None
) -> None:
    backend, thread = ran
    node = resolve(tree(backend, thread), step)
    values = editable(backend, thread, node)
    edit = {
        "task": lambda: task_edit(values, "other"),
        "result": lambda: result_edit(values, "", "other"),
        "human": lambda: human_edit("other"),
        "reply": lambda: reply_edit(values, AIMessage("other")),
    }[kind]()
    made = fork(backend, thread, node, edit)
    assert made.next == ((following,) if following else ())
    assert "other" in texts(backend.snapshot(thread, made.head).values["messages"])


def test_an_edit_that_would_change_what_runs_next_is_refused(ran: Any) -> None:
    backend, thread = ran
    node = resolve(tree(backend, thread), "3")
    edit = task_edit(editable(backend, thread, node), "other")
    with pytest.raises(HeadwayError, match="nothing would run next instead of tools"):
        fork(backend, thread, node, edit)


def test_a_thread_that_is_not_there_is_one_clear_error(ran: Any) -> None:
    backend, _ = ran
    for unknown in ("no-uuid", "00000000-0000-4000-8000-000000000000"):
        with pytest.raises(HeadwayError, match=f"no thread {unknown}"):
            tree(backend, unknown)


def test_what_a_server_does_not_offer_is_refused(ran: Any) -> None:
    backend, thread = ran
    found = tree(backend, thread)
    with pytest.raises(HeadwayError, match="needs the checkpointer itself"):
        prune(backend, found, [next(iter(found.nodes))])
    with pytest.raises(HeadwayError, match="needs the checkpointer itself"):
        delete(backend, thread)


def test_only_the_newest_page_is_read_and_keeps_its_step_names(url: str, ran: Any) -> None:
    backend, thread = ran
    page = Backend(backend.graph, history_limit=3)
    found = tree(page, thread)
    assert [node.name for node in found.nodes.values()] == ["6", "7", "8"]
    with pytest.raises(HeadwayError, match="older steps were pruned or not read"):
        resolve(found, "2")
