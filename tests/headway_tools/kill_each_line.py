"""Runs one edit again and again, each time killed STEP executed lines of our code later.

Usage: kill_each_line.py FOLDER STEP. Prints one JSON object; `test_replace.py` reads it.
"""

import json
import os
import signal
import sys
from pathlib import Path
from types import FrameType

from headway_tools import beneath, edit, files, replace, workspace

FILES = {module.__file__ for module in (beneath, edit, files, replace, workspace)}
OLD, NEW = b"one\ntwo\n", b"one\n2\n"


def main(folder: Path, step: int) -> None:
    place = workspace.Workspace(folder, folder)
    torn, leftovers, kills, lost_attributes = 0, 0, 0, 0
    while True:
        (folder / "f").write_bytes(OLD)
        (folder / "f").chmod(0o640)
        status = edit_killed_at(place, 1 + kills * step)
        torn += (folder / "f").read_bytes() not in (OLD, NEW)
        lost_attributes += (folder / "f").stat().st_mode & 0o777 != 0o640
        leftovers += replace.sweep(folder)
        if os.WIFEXITED(status):
            break
        kills += 1
    report = {
        "kills": kills,
        "torn": torn,
        "leftovers": leftovers,
        "lost_attributes": lost_attributes,
        "exit": os.WEXITSTATUS(status),
        "names": sorted(path.name for path in folder.iterdir()),
        "final": (folder / "f").read_bytes().decode(),
    }
    print(json.dumps(report))  # noqa: T201 - the report is this program's output


def edit_killed_at(place: workspace.Workspace, line: int) -> int:
    """The wait status of a child that dies before the `line`-th line it executes."""
    child = os.fork()
    if child == 0:
        count = 0

        def trace(frame: FrameType, event: str, _: object) -> object:
            nonlocal count
            if frame.f_code.co_filename not in FILES:
                return None
            count += event == "line"
            if count == line:
                os.kill(os.getpid(), signal.SIGKILL)
            return trace

        sys.settrace(trace)  # type: ignore[arg-type]
        edit.edit(place, "f", "two", "2")
        os._exit(0)
    return os.waitpid(child, 0)[1]


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]))
