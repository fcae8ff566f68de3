"""Tools that a process of its own can import."""

import asyncio
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from headway_tools.env import current_workspace
from headway_tools.errors import ToolFailure


def pid() -> int:
    """The process that runs this."""
    return os.getpid()


async def waits(seconds: float) -> str:
    """An asynchronous tool."""
    await asyncio.sleep(seconds)
    return "waited"


def fails(how: str) -> Any:
    """Fail in some way."""
    match how:
        case "value":
            raise ValueError("not that")
        case "failure":
            raise ToolFailure("not_found", "no such thing", "try another", nearest=["b"])
        case "exit":
            sys.exit(3)
        case "dies":
            os._exit(9)
        case "signal":
            os.kill(os.getpid(), 11)
    return lambda: None


def sleeps(marker: str) -> str:
    """Start a child, say that both run, and never return."""
    child = subprocess.Popen(["sleep", "600"])
    written = Path(f"{marker}.tmp")
    written.write_text(f"{os.getpid()} {child.pid}")
    written.rename(marker)
    while True:
        time.sleep(0.1)


def big(size: int) -> str:
    """A long text, and a word on stdout."""
    sys.stdout.write("chatter\n")
    return "x" * size


def where() -> str:
    """The folder of the agent's workspace."""
    return str(current_workspace().root)


def all_gone(marker: Path) -> bool:
    """Whether the processes that `sleeps` named have ended; one may wait for its burial."""
    return all(map(_gone, marker.read_text().split()))


def _gone(pid: str) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return True
    return state in "ZX"
