"""A run that is killed in the middle of a call."""

import os
import subprocess
import sys
import time
from pathlib import Path

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
