"""Random workspaces, random changes to them, and a comparison that shares no code with ours."""

import os
import random
import shutil
import stat
from collections.abc import Iterator
from pathlib import Path

NAMES = [
    b"a",
    b"b.py",
    b"c d",
    b"-rf",
    b"new\nline",
    b"\xff\xfe",
    "ü".encode(),
    b".hidden",
    b"GIT~1",
]
MODES = [0o644, 0o755, 0o600, 0o444, 0o000, 0o2755, 0o4711]
FOLDER_MODES = [0o755, 0o700, 0o555, 0o1777]

Facts = dict[bytes, tuple[object, ...]]


def describe(root: Path) -> Facts:
    """Every path with kind, mode, content or target, attributes and its hard-link partners."""
    facts: Facts = {}
    inodes: dict[tuple[int, int], list[bytes]] = {}
    for path in [root, *below(root)]:
        name = os.fsencode(path.relative_to(root))
        status = path.lstat()
        content: object = None
        attributes: object = None
        if path.is_symlink():
            content = os.fsencode(path.readlink())
        else:
            attributes = {n: os.getxattr(path, n) for n in os.listxattr(path)}
        if stat.S_ISREG(status.st_mode):
            content = path.read_bytes()
            inodes.setdefault((status.st_dev, status.st_ino), []).append(name)
        facts[name] = status.st_mode, content, attributes
    for group in inodes.values():
        for name in group:
            facts[name] += (tuple(sorted(group)),)
    return facts


def below(folder: Path) -> Iterator[Path]:
    for path in sorted(folder.iterdir()):
        yield path
        if path.is_dir() and not path.is_symlink():
            yield from below(path)


class Gardener:
    """Makes and changes trees from one seed."""

    def __init__(self, seed: int, root: Path) -> None:
        self.random = random.Random(seed)
        self.root = root
        self.counter = 0

    def plant(self, steps: int) -> None:
        for _ in range(steps):
            self.random.choice([self.add_file, self.add_file, self.add_folder, self.add_other])()

    def change(self, steps: int) -> None:
        actions = [
            self.add_file,
            self.add_folder,
            self.add_other,
            self.rewrite,
            self.append,
            self.delete,
            self.move,
            self.hard_link,
            self.chmod,
            self.swap_kind,
            self.attribute,
        ]
        for _ in range(steps):
            self.random.choice(actions)()

    def paths(self) -> list[Path]:
        return list(below(self.root))

    def files(self) -> list[Path]:
        return [path for path in self.paths() if stat.S_ISREG(path.lstat().st_mode)]

    def folders(self) -> list[Path]:
        return [path for path in self.paths() if stat.S_ISDIR(path.lstat().st_mode)]

    def fresh(self) -> Path:
        """A path that is not there, in a folder that is."""
        self.counter += 1
        folder = self.random.choice([self.root, *self.folders()])
        name = self.random.choice(NAMES)
        path = folder / os.fsdecode(name)
        return folder / os.fsdecode(name + b"%d" % self.counter) if os.path.lexists(path) else path

    def content(self) -> bytes:
        size = self.random.choice([0, 1, 20, 3_000, 70_000])
        if self.random.random() < 0.5:
            return self.random.randbytes(size)
        return (b"line %d\n" % self.counter * (size // 5 + 1))[:size]

    def add_file(self) -> None:
        path = self.fresh()
        path.write_bytes(self.content())
        path.chmod(self.random.choice(MODES))

    def add_folder(self) -> None:
        path = self.fresh()
        path.mkdir()
        path.chmod(self.random.choice(FOLDER_MODES))

    def add_other(self) -> None:
        path = self.fresh()
        if self.random.random() < 0.3:
            os.mkfifo(path)
        else:
            targets = [b"a", b"../..", b"/etc/passwd", b"\xff", b"."]
            path.symlink_to(os.fsdecode(self.random.choice(targets)))

    def rewrite(self) -> None:
        if files := self.files():
            self.random.choice(files).write_bytes(self.content())

    def append(self) -> None:
        if files := self.files():
            with self.random.choice(files).open("ab") as file:
                file.write(b"more")

    def delete(self) -> None:
        if paths := self.paths():
            _remove(self.random.choice(paths))

    def move(self) -> None:
        if paths := self.paths():
            source, target = self.random.choice(paths), self.fresh()
            if not target.is_relative_to(source):
                source.rename(target)

    def hard_link(self) -> None:
        if files := self.files():
            self.fresh().hardlink_to(self.random.choice(files))

    def chmod(self) -> None:
        if files := self.files():
            self.random.choice(files).chmod(self.random.choice(MODES))
        if folders := self.folders():
            self.random.choice(folders).chmod(self.random.choice(FOLDER_MODES))

    def swap_kind(self) -> None:
        if paths := self.paths():
            path = self.random.choice(paths)
            _remove(path)
            self.random.choice([Path.mkdir, Path.touch, os.mkfifo])(path)

    def attribute(self) -> None:
        if files := self.files():
            os.setxattr(self.random.choice(files), b"user.seen", self.content()[:20])


def _remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink()
