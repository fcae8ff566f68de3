"""Kills a process within its work on snapshots, again and again, and looks at what is left.

Usage: kill_snapshots.py FOLDER lines STEP    dies STEP executed lines of our code later each time
       kill_snapshots.py FOLDER random KILLS  dies at a random instant
Prints one JSON object; `test_snapshots_killed.py` reads it.
"""

import json
import os
import random
import shutil
import signal
import sqlite3
import sys
import time
import zlib
from collections.abc import Callable
from hashlib import blake2b
from pathlib import Path
from types import FrameType

from trees_support import Gardener, describe

from headway_tools import snapshots as package
from headway_tools.snapshots import Snapshots

OURS = str(Path(package.__file__).parent)


class Case:
    """A workspace in state B with a store that holds A (and B, once a run got that far)."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.root = folder / "work"
        self.root.mkdir()
        gardener = Gardener(7, self.root)
        gardener.plant(10)
        store = Snapshots(folder / "store")
        self.a = store.take(self.root)
        self.facts_a = describe(self.root)
        shutil.copytree(folder / "store", folder / "store0", ignore=shutil.ignore_patterns("lock"))
        store.close()
        gardener.change(12)
        self.facts_b = describe(self.root)
        self.start = Snapshots(folder / "start")
        self.b = self.start.take(self.root)
        self.start.close()
        self.faults: list[str] = []

    def work(self) -> None:
        """What the child does: all that writes."""
        store = Snapshots(self.folder / "store")
        b = store.take(self.root)
        store.extract(self.a, self.folder / "branch")
        store.restore(self.a, self.root)
        store.restore(b, self.root)
        store.collect([self.a])
        store.take(self.root)
        store.close()

    def check(self, where: str) -> None:
        """Nothing torn; what a user would do next works; then back to the start."""
        seen = describe(self.root)
        for path, facts in seen.items():
            if b".headway-" not in path and not self._expected(path, facts):
                self.faults.append(f"{where}: {path!r} is neither old nor new")
        self._objects(where)
        store = Snapshots(self.folder / "store")
        b = store.take(self.root)
        branch = self.folder / "branch"
        if branch.exists() and describe(branch) != self.facts_a:
            self.faults.append(f"{where}: the branch is not whole")
        store.restore(self.a, self.root)
        if describe(self.root) != self.facts_a:
            self.faults.append(f"{where}: restoring A again did not complete it")
        store.restore(b, self.root)
        store.close()
        self._reset()

    def _expected(self, path: bytes, facts: tuple[object, ...]) -> bool:
        """Old or new by content; modes of folders and hard links may be on their way."""
        known = [found[path] for found in (self.facts_a, self.facts_b) if path in found]
        return any(other[1] == facts[1] for other in known)

    def _objects(self, where: str) -> None:
        db = sqlite3.connect(self.folder / "store/objects.sqlite")
        contents: dict[bytes, bytes] = {}
        for key, data in db.execute("SELECT id, data FROM objects ORDER BY id, part"):
            plain = zlib.decompress(data[1:]) if data[:1] == b"\1" else data[1:]
            contents[key] = contents.get(key, b"") + plain
        db.close()
        for key, data in contents.items():
            if blake2b(data, digest_size=20).digest() != key:
                self.faults.append(f"{where}: object {key.hex()} is torn")

    def _reset(self) -> None:
        store = Snapshots(self.folder / "start")
        store.restore(self.b, self.root)
        store.close()
        shutil.rmtree(self.folder / "branch", ignore_errors=True)
        for path in self.folder.glob(".headway-*"):
            shutil.rmtree(path)
        shutil.rmtree(self.folder / "store")
        shutil.copytree(self.folder / "store0", self.folder / "store")
        assert describe(self.root) == self.facts_b


def die_at_line(number: int) -> Callable[[], None]:
    def arm() -> None:
        count = 0

        def trace(frame: FrameType, event: str, _: object) -> object:
            nonlocal count
            if not frame.f_code.co_filename.startswith(OURS):
                return None
            count += event == "line"
            if count == number:
                os.kill(os.getpid(), signal.SIGKILL)
            return trace

        sys.settrace(trace)  # type: ignore[arg-type]

    return arm


def in_child(arm: Callable[[], None], work: Callable[[], None], seconds: float | None) -> int:
    """The wait status of a child that does `work`, killed from here after `seconds`."""
    child = os.fork()
    if child == 0:
        arm()
        work()
        os._exit(0)
    if seconds is not None:
        time.sleep(seconds)
        os.kill(child, signal.SIGKILL)
    return os.waitpid(child, 0)[1]


def each_line(case: Case, step: int) -> tuple[int, int]:
    kills = 0
    while True:
        status = in_child(die_at_line(1 + kills * step), case.work, None)
        case.check(f"line {1 + kills * step}")
        if os.WIFEXITED(status):
            return kills, os.WEXITSTATUS(status)
        kills += 1


def at_random(case: Case, kills: int) -> tuple[int, int]:
    chance = random.Random(kills)
    started = time.monotonic()
    status = in_child(lambda: None, case.work, None)
    whole = time.monotonic() - started
    case.check("unharmed")
    for number in range(kills):
        seconds = chance.uniform(0, whole)
        in_child(lambda: None, case.work, seconds)
        case.check(f"kill {number}, after {seconds:.4f} s")
    return kills, os.WEXITSTATUS(status)


def main(folder: Path, mode: str, number: int) -> None:
    case = Case(folder)
    kills, code = (each_line if mode == "lines" else at_random)(case, number)
    report = {"kills": kills, "exit": code, "faults": case.faults}
    print(json.dumps(report))  # noqa: T201 - the report is this program's output


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2], int(sys.argv[3]))
