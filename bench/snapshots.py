"""Times of snapshots beside `git add -A` + `git write-tree`, in turn, on the same tree.

    python bench/snapshots.py [FILES]

Prints the median in milliseconds of each and their ratio. The bare scan (scandir and lstat, no
more) is the floor for any store that looks at every file.
"""

import os
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median

from headway_tools.snapshots import Snapshots

ROUNDS = 15


def main() -> None:
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 2700
    with tempfile.TemporaryDirectory(prefix="headway-bench-") as name:
        folder = Path(name)
        root = folder / "work"
        files = plant(root, count)
        store = Snapshots(folder / "store")
        git = Git(folder / "git", root)
        print(f"{count} files; milliseconds, median of {ROUNDS} (first: once)")
        print(f"{'':12}{'bare scan':>12}{'headway':>12}{'git':>12}{'git/headway':>14}")
        line("first", [timed(lambda: scan(root))], [timed(lambda: store.take(root))], [git.take()])
        for changes in (0, 1, 100):
            rows: list[tuple[float, float, float]] = []
            for number in range(ROUNDS):
                for path in files[:changes]:
                    path.write_text(f"changed {number}\n")
                bare = timed(lambda: scan(root))
                rows.append((bare, timed(lambda: store.take(root)), git.take()))
            line(f"{changes} changed", *([row[i] for row in rows] for i in range(3)))
        times(store, root, files, folder)
        store.close()


def plant(root: Path, count: int) -> list[Path]:
    chance = random.Random(1)
    files = []
    for number in range(count):
        path = root / f"d{number % 30}" / f"e{number % 300 // 30}" / f"f{number}.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"x = {number}\n" * chance.randint(1, 400))
        files.append(path)
    chance.shuffle(files)
    return files


class Git:
    """The fair rival: a git folder of its own, no compression, no hooks, no global settings."""

    def __init__(self, git_dir: Path, root: Path) -> None:
        self.environment = {
            "PATH": os.environ["PATH"],
            "GIT_DIR": str(git_dir),
            "GIT_WORK_TREE": str(root),
            "GIT_CONFIG_GLOBAL": "/dev/null",
            "GIT_CONFIG_NOSYSTEM": "1",
        }
        self.root = root
        self.run("init", "-q")
        self.run("config", "core.looseCompression", "1")

    def run(self, *arguments: str) -> None:
        command = ["git", *arguments]
        subprocess.run(
            command, env=self.environment, cwd=self.root, check=True, stdout=subprocess.DEVNULL
        )

    def take(self) -> float:
        def both() -> None:
            self.run("add", "-A", "-f", ".")
            self.run("write-tree")

        return timed(both)


def times(store: Snapshots, root: Path, files: list[Path], folder: Path) -> None:
    """Once each: the other verbs, on a difference of 100 files."""
    before = store.take(root)
    for path in files[:100]:
        path.write_text("other\n")
    after = store.take(root)
    print(f"diff of 100 files     {timed(lambda: store.diff(before, after)):8.1f}")
    print(f"restore of 100 files  {timed(lambda: store.restore(before, root)):8.1f}")
    print(f"extract of all        {timed(lambda: store.extract(before, folder / 'branch')):8.1f}")
    print(f"collect all but one   {timed(lambda: store.collect([before])):8.1f}")


def scan(folder: Path) -> None:
    with os.scandir(folder) as items:
        for item in items:
            item.stat(follow_symlinks=False)
            if item.is_dir(follow_symlinks=False):
                scan(Path(item.path))


def timed(action: Callable[[], object]) -> float:
    start = time.perf_counter()
    action()
    return (time.perf_counter() - start) * 1000


def line(label: str, bare: list[float], ours: list[float], git: list[float]) -> None:
    a, b, c = median(bare), median(ours), median(git)
    print(f"{label:12}{a:12.1f}{b:12.1f}{c:12.1f}{c / b:14.2f}")


if __name__ == "__main__":
    main()
