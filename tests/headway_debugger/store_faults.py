"""What a process does whose data folder cannot be written, and what it leaves.

Usage: store_faults.py FOLDER full|read_only. Prints one JSON object; `test_store_faults.py` reads
it. As the superuser it gives that up first: modes do not bind it.
"""

import json
import os
import resource
import signal
import sys
from pathlib import Path
from typing import Any

from headway import run_agent
from headway_debugger.threads import open_thread
from headway_tools.errors import HeadwayError
from headway_tools.home import Home
from policies import bash, replies

NOBODY = 65534
ROOM = 300 * 1024


def run(folder: Path, task: str | None, *said: Any) -> str:
    """How a run of thread `t` ended, or the one line that refused it."""
    try:
        options: Any = {"workspace": folder / "work", "home": folder / "home", "thread_id": "t"}
        return str(run_agent(task, model=replies(*said), **options).status)
    except HeadwayError as error:
        return f"HeadwayError: {error}"


def steps(folder: Path) -> int:
    with open_thread(Home(folder / "home"), "t") as thread:
        return len(thread.tree.nodes)


def full(folder: Path) -> dict[str, Any]:
    """No file may grow any more within a run; then there is room again."""
    started = run(folder, "first", "done")
    before = steps(folder)
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (ROOM, hard))
    big = [bash(f"head -c 150000 /dev/urandom | base64 > f{n}", f"c{n}") for n in range(9)]
    ended = run(folder, "second", "done", *big, "all")
    resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    kept = steps(folder) >= before
    after = run(folder, None, "done", "went on")
    return {"started": started, "ended": ended, "kept": kept, "after": after}


def read_only(folder: Path) -> dict[str, Any]:
    """Everything in the data folder is closed to writing; then it is open again."""
    started = run(folder, "first", "done")
    before = steps(folder)
    close(folder / "home", 0o500, 0o400)
    ended = run(folder, "second", "done", "two")
    close(folder / "home", 0o700, 0o600)
    after = run(folder, "third", "done", "three")
    return {"started": started, "ended": ended, "kept": steps(folder) >= before, "after": after}


def close(folder: Path, folders: int, files: int) -> None:
    """Give everything below `folder` these modes; to be opened, a folder is before it is listed."""
    opening = bool(folders & 0o200)
    if opening:
        folder.chmod(folders)
    for place, names, found in os.walk(folder, topdown=opening):
        for name in found:
            if not (path := Path(place, name)).is_symlink():
                path.chmod(files)
        for path in [Path(place, name) for name in names] if opening else [Path(place)]:
            if not path.is_symlink():
                path.chmod(folders)


if __name__ == "__main__":
    place = Path(sys.argv[1])
    if os.geteuid() == 0:
        os.chown(place, NOBODY, NOBODY)
        os.setgroups([])
        os.setgid(NOBODY)
        os.setuid(NOBODY)
        os.environ["HOME"] = str(place)
    (place / "work").mkdir()
    print(json.dumps({"full": full, "read_only": read_only}[sys.argv[2]](place)))  # noqa: T201
