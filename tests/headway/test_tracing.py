"""What an observer gets to see: everything that happened, and no secret of the host."""

import http.server
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import pytest
from langchain_core.callbacks import BaseCallbackHandler, CallbackManagerForToolRun
from langchain_core.messages import ToolMessage
from langchain_core.runnables import RunnableConfig
from langchain_core.tools import BaseTool, InjectedToolCallId, tool
from langgraph.types import Command

from headway import build_agent
from headway.masking import masked
from openai_server import OpenAIServer, calls, says
from policies import bash, call, replies

SECRET = "hunter2-9f8e7d6c5b4a"
KEY = "sk-traced-1a2b3c4d5e6f"
GO: Any = {"messages": [("user", "go")]}


class Recorder(BaseCallbackHandler):
    """Everything that any callback is given, as text: what a tracer could send."""

    def __init__(self) -> None:
        self.events: list[tuple[str, str]] = []

    def __getattribute__(self, name: str) -> Any:
        if not name.startswith("on_"):
            return super().__getattribute__(name)
        return lambda *args, **kwargs: self.events.append((name, f"{args!r} {kwargs!r}"))


def run_recorded(workspace: Path, how: str, monkeypatch: pytest.MonkeyPatch) -> Recorder:
    """A run in which each tool meets the secret, which a file of the workspace holds."""
    monkeypatch.setenv("SERVICE_TOKEN", SECRET)
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    (workspace / "config").write_text(f"a = 1\ntoken = {SECRET}\n")
    recorder = Recorder()
    script = [
        calls("bash", "c1", command="cat config; cat config >&2"),
        calls("read_file", "c2", path="config"),
        calls("edit", "c3", path="config", old_text="a = 1", new_text="a = 2"),
        says("done"),
    ]
    with OpenAIServer(script) as server:
        agent = build_agent(
            "openai:m", base_url=server.url, api_key=KEY, workspace=workspace
        ).with_config({"callbacks": [recorder]})
        if how == "stream":
            list(agent.stream(GO, stream_mode="messages"))
        else:
            agent.invoke(GO)
    return recorder


@pytest.mark.parametrize("how", ["invoke", "stream"])
def test_no_callback_is_given_a_secret(
    workspace: Path, monkeypatch: pytest.MonkeyPatch, how: str
) -> None:
    recorder = run_recorded(workspace, how, monkeypatch)
    kinds = {kind for kind, _ in recorder.events}
    assert {"on_chain_start", "on_chat_model_start", "on_tool_start", "on_tool_end"} <= kinds
    told = "".join(text for kind, text in recorder.events if kind == "on_tool_end")
    assert told.count("token = [secret]") >= 3
    assert [kind for kind, text in recorder.events if SECRET in text or KEY in text] == []


def told(tell: str) -> str:
    """Tell."""
    return f"{tell} {SECRET}"


async def told_later(tell: str) -> str:
    """Tell."""
    return f"{tell} {SECRET}"


@tool(response_format="content_and_artifact")
def with_artifact(tell: str) -> tuple[list[str | dict[str, Any]], dict[str, str]]:
    """Tell."""
    return [{"type": "text", "text": f"{tell} {SECRET}"}], {"raw": SECRET}


def as_object(tell: str) -> Path:
    """Tell."""
    return Path(tell) / SECRET


def raised(tell: str) -> str:
    """Tell."""
    raise ValueError(f"{tell} {SECRET}")


def raised_because(tell: str) -> str:
    """Tell."""
    try:
        return raised(tell)
    except ValueError as error:
        raise KeyError(tell) from error


def as_command(
    tell: str, tool_call_id: Annotated[str, InjectedToolCallId], config: RunnableConfig
) -> Command[Any]:
    """Tell."""
    assert config["configurable"]
    message = ToolMessage(f"{tell} {SECRET}", tool_call_id=tool_call_id)
    return Command(update={"messages": [message]})


class OfAClass(BaseTool):
    name: str = "of_a_class"
    description: str = "Tell."

    def _run(self, tell: str, run_manager: CallbackManagerForToolRun) -> str:
        assert run_manager.run_id
        return f"{tell} {SECRET}"


FOREIGN = [
    tool(told),
    tool(told_later),
    with_artifact,
    tool(as_object),
    tool(raised),
    tool(raised_because),
    tool(as_command),
    OfAClass(),
]


@pytest.mark.parametrize("foreign", FOREIGN, ids=lambda foreign: foreign.name)
async def test_no_callback_is_given_a_secret_by_a_foreign_tool(
    monkeypatch: pytest.MonkeyPatch, foreign: BaseTool
) -> None:
    monkeypatch.setenv("SERVICE_TOKEN", SECRET)
    recorder = Recorder()
    model = replies(call(foreign.name, tell="known"), "done")
    agent = build_agent(model, tools=[foreign], memory=True)
    values = await agent.ainvoke(GO, {"callbacks": [recorder]})
    if foreign.name != "told_later":
        agent.invoke(GO, {"callbacks": [recorder]})
    assert "known" in str(values["messages"][2].content)
    ended = [text for kind, text in recorder.events if kind in ("on_tool_end", "on_tool_error")]
    assert len(ended) == (1 if foreign.name == "told_later" else 2)
    assert all("known" in text for text in ended)
    assert [kind for kind, text in recorder.events if SECRET in text] == []


def test_results_without_a_secret_stay_the_objects_that_they_are() -> None:
    content = [{"type": "text", "text": "a"}, ("b", 1, None)]
    assert masked(content, str) == content
    path = Path("x")
    assert masked(path, str) is path


def test_a_parents_callbacks_see_all_nodes_and_tools(workspace: Path) -> None:
    recorder = Recorder()
    agent = build_agent(replies(bash("echo hi"), "done"), workspace=workspace)
    agent.invoke(GO, {"callbacks": [recorder]})
    starts = "".join(text for kind, text in recorder.events if kind == "on_chain_start")
    nodes = ("enter", "agent", "tools", "progress", "truncate", "verify")
    assert [node for node in nodes if f"'name': '{node}'" not in starts] == []


@contextmanager
def collector() -> Iterator[tuple[str, list[str]]]:
    """An endpoint that notes which paths were asked for."""
    seen: list[str] = []

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            seen.append(self.path)
            self.send_response(404)
            self.send_header("content-length", "0")
            self.end_headers()

        do_POST = do_PATCH = do_GET

        def log_message(self, format: str, *args: object) -> None:
            """Silent."""

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.05,))
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}", seen
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


RUN = """
from headway import run_agent
from headway.testing import ScriptedModel
print(run_agent("x", model=ScriptedModel([{"content": "done"}]), memory=True).status)
from langchain_core.tracers.langchain import wait_for_all_tracers
wait_for_all_tracers()
"""


@pytest.mark.parametrize("on", [False, True])
def test_langsmith_is_used_only_where_the_environment_turns_it_on(tmp_path: Path, on: bool) -> None:
    with collector() as (url, seen):
        environment = {
            "PATH": "/usr/bin:/bin",
            "HOME": str(tmp_path),
            "PYTHONPATH": ":".join(sys.path),
            "LANGSMITH_ENDPOINT": url,
            "LANGSMITH_API_KEY": "lsv2_none",
        }
        if on:
            environment["LANGSMITH_TRACING"] = "true"
        done = subprocess.run(
            [sys.executable, "-c", RUN], env=environment, capture_output=True, text=True, check=True
        )
    assert done.stdout.strip() == "completed"
    assert bool(seen) == on
