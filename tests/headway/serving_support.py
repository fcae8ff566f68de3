"""A served headway on loopback, and a model that does what the task's lines say.

A task is a script: the n-th reply after it is its n-th line, `bash: COMMAND`, `edit: PATH TEXT`,
`ask: QUESTION` or `say: TEXT`.
"""

import json
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from openai_server import OpenAIServer, Reply, Request, calls, says

ROOT = Path(__file__).resolve().parents[2]
KINDS = ("bash:", "edit:", "ask:", "say:")
KEY = "sk-served-5bX9qLw2TtR7"
MOST_CALLS = 12


def scripted(request: Request) -> Reply:
    """The reply that the newest task asks for."""
    messages = request.messages
    at = max(i for i, m in enumerate(messages) if m["role"] == "user" and _lines(m))
    said = sum(m["role"] == "assistant" for m in messages[at:])
    lines = _lines(messages[at])
    kind, _, rest = lines[min(said, len(lines) - 1)].partition(":")
    rest = rest.strip()
    call_id = f"c{sum(m['role'] == 'assistant' for m in messages)}"
    if kind == "bash":
        return calls("bash", call_id, command=rest)
    if kind == "edit":
        path, _, text = rest.partition(" ")
        return calls("edit", call_id, path=path, old_text="", new_text=text)
    if kind == "ask":
        return calls("ask_user", call_id, question=rest)
    return says(rest)


def _lines(message: Mapping[str, Any]) -> list[str]:
    return [line for line in str(message["content"]).splitlines() if line.startswith(KINDS)]


@dataclass(frozen=True)
class Served:
    """A running server, where it keeps things, and the model endpoint that it was given."""

    url: str
    home: Path
    log: Path
    model: OpenAIServer

    def workspace(self, thread: str) -> Path:
        return self.home / "workspaces" / thread


def task(*lines: str) -> dict[str, Any]:
    """The input of a run."""
    return {"messages": [{"role": "user", "content": "\n".join(lines)}]}


@contextmanager
def langgraph_dev(
    folder: Path,
    config: Mapping[str, Any] | None = None,
    environment: Mapping[str, str] | None = None,
) -> Iterator[Served]:
    """`langgraph dev` with the project's langgraph.json and `config` added to it, stopped at the
    end. The server keeps its own files in `folder`, its current directory."""
    home, log = folder / "home", folder / "log"
    (folder / "graph").symlink_to(ROOT / "graph")
    known = json.loads((ROOT / "langgraph.json").read_text())
    (folder / "langgraph.json").write_text(json.dumps({**known, **(config or {})}))
    with OpenAIServer(scripted) as model:
        given = {
            "HEADWAY_HOME": str(home),
            "HEADWAY_MODEL": "openai:first",
            "HEADWAY_MODELS": "openai:second",
            "HEADWAY_LIMIT_MODEL_CALLS": str(MOST_CALLS),
            "OPENAI_API_KEY": KEY,
            "OPENAI_BASE_URL": model.url,
            **(environment or {}),
        }
        port = free_port()
        arguments = ["dev", "--no-browser", "--no-reload", "--n-jobs-per-worker", "8"]
        where = ["--host", "127.0.0.1", "--port", str(port)]
        command = [sys.executable, "-m", "langgraph_cli", *arguments, *where]
        url = f"http://127.0.0.1:{port}"
        with started(command, folder, given, log) as up:
            wait_for(f"{url}/ok", up, log)
            yield Served(url, home, log, model)


@contextmanager
def started(
    command: list[str], folder: Path, given: Mapping[str, str], log: Path
) -> Iterator[subprocess.Popen[bytes]]:
    """A server process in a session of its own, stopped at the end."""
    kept = {
        name: os.environ[name]
        for name in ("PATH", "HOME", "LANG", "PYTHONPATH")
        if name in os.environ
    }
    with log.open("wb") as output:
        server = subprocess.Popen(
            command,
            cwd=folder,
            env={**kept, **given},
            stdout=output,
            stderr=output,
            start_new_session=True,
        )
    try:
        yield server
    finally:
        with suppress(ProcessLookupError):
            os.killpg(server.pid, signal.SIGTERM)
        server.wait(60)


def free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


def wait_for(url: str, server: subprocess.Popen[bytes], log: Path) -> None:
    for _ in range(600):
        assert server.poll() is None, log.read_text()
        try:
            with urllib.request.urlopen(url, timeout=5):
                return
        except (urllib.error.URLError, OSError):
            time.sleep(0.1)
    raise AssertionError(log.read_text())
