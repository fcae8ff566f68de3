"""Drives headway behind Aegra (see aegra.sh): a run, a fork, and a worker killed in mid-call.

Prints what was seen, and ends with 1 where something differs from what docs/deploy.md says.
"""

import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import httpx
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.pregel.remote import RemoteGraph
from langgraph.types import Command
from langgraph_sdk import get_sync_client
from langgraph_sdk.client import SyncLangGraphClient

ROOT = Path(__file__).resolve().parents[1]
sys.path += [str(ROOT / "tests"), str(ROOT / "tests" / "headway")]

from serving_support import free_port, scripted, started, task, wait_for  # noqa: E402

from headway.embed import remote_node, remote_thread  # noqa: E402
from openai_server import OpenAIServer  # noqa: E402

LEASE = {
    "LEASE_DURATION_SECONDS": "6",
    "HEARTBEAT_INTERVAL_SECONDS": "2",
    "REAPER_INTERVAL_SECONDS": "3",
}


@contextmanager
def redis(folder: Path) -> Iterator[str]:
    """A Redis server of its own, without files."""
    port = free_port()
    command = ["redis-server", "--port", str(port), "--bind", "127.0.0.1", "--save", ""]
    with started([*command, "--appendonly", "no"], folder, {}, folder / "redis.log"):
        until(lambda: answers(port))
        yield f"redis://127.0.0.1:{port}/0"


def answers(port: int) -> bool:
    with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
        return True
    return False


class Worker:
    """One Aegra process."""

    def __init__(self, stack: ExitStack, folder: Path, given: dict[str, str], name: str) -> None:
        port = free_port()
        command = [sys.executable, "-m", "uvicorn", "aegra_api.main:app"]
        where = ["--host", "127.0.0.1", "--port", str(port)]
        log = folder / f"{name}.log"
        self.process: subprocess.Popen[bytes] = stack.enter_context(
            started([*command, *where], folder, given, log)
        )
        wait_for(f"http://127.0.0.1:{port}/health", self.process, log)
        self.log = log
        self.client = get_sync_client(url=f"http://127.0.0.1:{port}")


def main() -> int:
    failed = []
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="hwaegra")))
        for name in ("langgraph.json", "graph"):
            (folder / name).symlink_to(ROOT / name)
        model = stack.enter_context(OpenAIServer(scripted))
        given = {
            "DATABASE_URL": os.environ["HEADWAY_TEST_POSTGRES"],
            "REDIS_BROKER_ENABLED": "true",
            "REDIS_URL": stack.enter_context(redis(folder)),
            "AUTH_TYPE": "noop",
            "AEGRA_CONFIG": "langgraph.json",
            "HEADWAY_HOME": str(folder / "home"),
            "HEADWAY_MODEL": "openai:first",
            "OPENAI_API_KEY": "sk-aegra",
            "OPENAI_BASE_URL": model.url,
            **LEASE,
        }
        workers = [Worker(stack, folder, given, name) for name in ("one", "two")]
        workspaces = folder / "home" / "workspaces"
        for check in (plain_run, foreign_page, as_a_node, fork, meeting, takeover):
            try:
                print(f"{check.__name__}: {check(workers, workspaces)}")
            except Exception as error:
                failed.append(check.__name__)
                print(f"{check.__name__}: FAILED: {error!r}")
                print(workers[0].log.read_text()[-3000:])
    return 1 if failed else 0


def plain_run(workers: list[Worker], workspaces: Path) -> str:
    """A run on the second worker, its state read on the first."""
    one, two = (worker.client for worker in workers)
    thread = two.threads.create()["thread_id"]
    start = time.monotonic()
    values: Any = two.runs.wait(thread, "headway", input=task("bash: echo 1 >> log", "say: one"))
    seconds = time.monotonic() - start
    assert values["outcome"]["status"] == "completed", values
    assert (workspaces / thread / "log").read_text() == "1\n"
    (state,) = one.threads.get_history(thread, limit=1)
    assert state["values"]["messages"][-1]["content"] == "one"
    return f"completed in {seconds:.2f} s"


def foreign_page(workers: list[Worker], workspaces: Path) -> str:
    """What a browser sends for a foreign page, without asking first, starts nothing."""
    url = str(workers[0].client.http.client.base_url)
    headers = {"origin": "https://evil.example", "content-type": "text/plain"}
    run = {"assistant_id": "headway", "input": task("bash: touch owned", "say: one")}
    answer = httpx.post(f"{url}/runs/wait", content=json.dumps(run), headers=headers)
    assert answer.status_code == 403, answer.text
    assert not list(workspaces.rglob("owned"))
    return "refused"


def as_a_node(workers: list[Worker], workspaces: Path) -> str:
    """`headway.embed.remote_node` in a local graph, over two questions."""
    client = workers[0].client
    remote = RemoteGraph("headway", url=str(client.http.client.base_url), sync_client=client)
    graph = StateGraph(MessagesState).add_node("remote", remote_node(remote))
    parent = graph.add_edge(START, "remote").compile(checkpointer=InMemorySaver())
    config: Any = {"configurable": {"thread_id": "parent"}}
    values: Any = parent.invoke(task("ask: red?", "ask: blue?", "say: painted"), config)
    for answer in ("yes red", "yes blue"):
        said = {"decisions": [{"type": "respond", "message": answer}]}
        values = parent.invoke(Command(resume=said), config)
    assert values["messages"][-1].text == "painted", values
    (state,) = client.threads.get_history(remote_thread("parent", "remote"), limit=1)
    messages: Any = state["values"]["messages"]
    told = [message["content"] for message in messages if message["type"] == "tool"]
    assert ["yes red" in told[0], "yes blue" in told[1]] == [True, True], told
    return "two questions, two answers"


def fork(workers: list[Worker], workspaces: Path) -> str:
    """An edited state goes on beside the original."""
    client = workers[0].client
    thread = client.threads.create()["thread_id"]
    client.runs.wait(thread, "headway", input=task("bash: echo 1 >> log", "say: one"))
    history = client.threads.get_history(thread, limit=100)
    first: Any = next(state for state in history if state["next"] == ["enter"])
    message = {**first["values"]["messages"][0], "content": "bash: echo 2 >> log\nsay: two"}
    made: Any = client.threads.update_state(
        thread, {"messages": [message]}, checkpoint=first["checkpoint"], as_node="__start__"
    )
    checkpoint = made["checkpoint"]["checkpoint_id"]
    values: Any = client.runs.wait(thread, "headway", input=None, checkpoint_id=checkpoint)
    assert values["messages"][-1]["content"] == "two", values
    assert (workspaces / thread / "log").read_text() == "1\n2\n"
    return "two branches"


def meeting(workers: list[Worker], workspaces: Path) -> str:
    """Aegra lets two runs of a thread run at once; headway's lease refuses the second."""
    one, two = (worker.client for worker in workers)
    thread = one.threads.create()["thread_id"]
    first = one.runs.create(thread, "headway", input=task("bash: touch a; sleep 6", "say: one"))
    until((workspaces / thread / "a").exists)
    second = two.runs.create(thread, "headway", input=task("bash: touch b", "say: two"))
    until(lambda: status(two, thread, second["run_id"]) in ("success", "error"))
    until(lambda: status(one, thread, first["run_id"]) in ("success", "error"))
    ended = [status(one, thread, run["run_id"]) for run in (first, second)]
    assert ended == ["success", "error"], ended
    assert not (workspaces / thread / "b").exists()
    return "the first run finished, the second was refused"


def takeover(workers: list[Worker], workspaces: Path) -> str:
    """The worker in mid-call is killed; the other finishes, and repeats nothing silently."""
    client = workers[1].client
    thread = client.threads.create()["thread_id"]
    lines = task("bash: echo 1 >> log; sleep 3000", "say: taken over")
    run = client.runs.create(thread, "headway", input=lines)
    log = workspaces / thread / "log"
    until(log.exists)
    victim = next(worker for worker in workers if has_sleeping_child(worker.process.pid))
    os.killpg(victim.process.pid, signal.SIGKILL)
    start = time.monotonic()
    other = next(worker for worker in workers if worker is not victim).client
    until(lambda: status(other, thread, run["run_id"]) in ("success", "error"))
    seconds = time.monotonic() - start
    (state,) = other.threads.get_history(thread, limit=1)
    messages: Any = state["values"]["messages"]
    assert messages[-1]["content"] == "taken over", messages
    assert "it may have run" in messages[2]["content"], messages
    assert log.read_text() == "1\n", "the call ran twice"
    return f"the other worker had finished after {seconds:.1f} s; the call was not repeated"


def status(client: SyncLangGraphClient, thread: str, run: str) -> str:
    return str(client.runs.get(thread, run)["status"])


def has_sleeping_child(pid: int) -> bool:
    """Whether a process of this worker's session runs `sleep`."""
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            text = stat.read_text()
        except OSError:
            continue
        name, rest = text.rsplit(")", 1)
        if name.endswith("(sleep") and _ancestor(int(rest.split()[1]), pid):
            return True
    return False


def _ancestor(pid: int, wanted: int) -> bool:
    while pid > 1:
        if pid == wanted:
            return True
        try:
            pid = int(Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[1])
        except OSError:
            return False
    return False


def until(condition: Callable[[], bool]) -> None:
    for _ in range(1200):
        if condition():
            return
        time.sleep(0.1)
    raise AssertionError("it did not happen")


if __name__ == "__main__":
    sys.exit(main())
