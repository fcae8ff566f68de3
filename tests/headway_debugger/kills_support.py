"""A run that is killed in the middle of a call."""

import asyncio
import os
import subprocess
import sys
import time
from contextlib import aclosing
from pathlib import Path

from headway.run import Control, astream_agent
from policies import bash, replies

KILLED = """
import sys
from headway import run_agent
from headway.testing import ScriptedModel
call = {"name": "bash", "args": {"command": sys.argv[2]}, "id": "c1"}
last = {"name": "bash", "args": {"command": "echo 2 > two"}, "id": "c0"}
run_agent(
    "first", model=ScriptedModel([{"tool_calls": [last, call]}]), workspace=sys.argv[1],
    thread_id="t",
)
"""


def killed(workspace: Path, command: str, sign: str) -> None:
    """A run of two calls, killed for good once the second one has made the file `sign`."""
    child = subprocess.Popen([sys.executable, "-c", KILLED, str(workspace), command])
    try:
        deadline = time.monotonic() + 120
        while not (workspace / sign).exists() and time.monotonic() < deadline:
            assert child.poll() is None
            time.sleep(0.02)
    finally:
        os.kill(child.pid, 9)
        child.wait()


def stopped(workspace: Path, command: str, sign: str) -> None:
    """A run of one call, stopped in order once the call has made the file `sign`."""

    async def run() -> None:
        control = Control()
        model = replies(bash(command))
        events = astream_agent(
            "first", model=model, workspace=workspace, thread_id="t", control=control
        )
        async with aclosing(events):
            async for event in events:
                if event["type"] == "call":
                    asyncio.get_running_loop().create_task(stop(control))

    async def stop(control: Control) -> None:
        await asyncio.to_thread(_wait_for, workspace / sign)
        control.now()

    asyncio.run(run())


def _wait_for(path: Path) -> None:
    deadline = time.monotonic() + 120
    while not path.exists() and time.monotonic() < deadline:
        time.sleep(0.02)
