"""A helper whose process group dies with this process, however this process dies.

bwrap's die-with-parent leaves a process behind when headway is killed while bwrap starts (seen
in a fifth of kills in its first 12 ms). Every bwrap joins the helper's group; our death closes
the helper's pipe, and the helper kills its group.
"""

import atexit
import os
import subprocess
import threading
from subprocess import DEVNULL, PIPE

_lock = threading.Lock()
_guards: dict[int, "subprocess.Popen[bytes]"] = {}

_SCRIPT = "trap '' HUP INT TERM; read _; kill -9 0"


def guard_group() -> int:
    """The helper's process group; the helper is started when there is none for this process."""
    with _lock:
        guard = _guards.get(os.getpid())
        if guard is None or guard.poll() is not None:
            guard = subprocess.Popen(
                ["/bin/sh", "-c", _SCRIPT],
                stdin=PIPE,
                stdout=DEVNULL,
                stderr=DEVNULL,
                process_group=0,
                env={},
            )
            if not _guards:
                atexit.register(_release)
            _guards[os.getpid()] = guard
        return guard.pid


def _release() -> None:
    guard = _guards.pop(os.getpid(), None)
    if guard is not None and guard.stdin is not None:
        guard.stdin.close()
        guard.wait()
