"""Random workspaces, random changes to them, and a comparison that shares no code with ours."""

import os
import random
import shutil
import stat
from pathlib import Path

NAMES = [b"a", b"b.py", b"c d", b"-rf", b"new\nline", b"\xff\xfe", "ü".encode(), b".hidden", b"GIT~1"]
MODES = [0o644, 0o755, 0o600, 0o444, 0o000, 0o2755, 0o4711]
FOLDER_MODES = [0o755, 0o700, 0o555, 0o1777]

Facts = dict[bytes, tuple[object, ...]]


def describe(root: Path) -> Facts:
    """Every path with kind, mode, content or target, attributes and its hard-link partners."""
    facts: Facts = {}
    inodes: dict[tuple[int, int], list[bytes]] = {}
    top = os.fsencode(root)
    for path in [top, *_below(top)]:
        name = path[len(top) + 1 :]
        status = os.lstat(path)
        kind = stat.S_IFMT(status.st_mode)
        mode = stat.S_IMODE(status.st_mode)
        content: object = None
        attributes: object = None
        if stat.S_ISLNK(status.st_mode):
            content = os.readlink(path)
        else:
            attributes = {n: os.getxattr(path, n) for n in os.listxattr(path)}
        if stat.S_ISREG(status.st_mode):
            content = Path(os.fsdecode(path)).read_bytes()
            inodes.setdefault((status.st_dev, status.st_ino), []).append(name)
        facts[name] = kind, mode, content, attributes
    for group in inodes.values():
        for name in group:
            facts[name] += (tuple(sorted(group)),)
    return facts


def _below(folder: bytes) -> list[bytes]:
    found: list[bytes] = []
    with os.scandir(folder) as items:
        for item in items:
            found.append(item.path)
            if item.is_dir(follow_symlinks=False):
                found.extend(_below(item.path))
    return found


class Gardener:
    """Makes and changes trees from one seed, with all rights of the superuser or the owner's."""

    def __init__(self, seed: int, root: Path) -> None:
        self.random = random.Random(seed)
        self.root = os.fsencode(root)
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

    def paths(self, kind: int | None = None) -> list[bytes]:
        found = sorted(_below(self.root))
        return [p for p in found if kind is None or stat.S_IFMT(os.lstat(p).st_mode) == kind]

    def folder(self) -> bytes:
        return self.random.choice([self.root, *self.paths(stat.S_IFDIR)])

    def fresh(self) -> bytes:
        """A path that is not there, in a folder that is."""
        self.counter += 1
        name = self.random.choice(NAMES)
        path = self.folder() + b"/" + name
        return path + b"%d" % self.counter if os.path.lexists(path) else path

    def content(self) -> bytes:
        size = self.random.choice([0, 1, 20, 3_000, 70_000])
        if self.random.random() < 0.5:
            return self.random.randbytes(size)
        return (b"line %d\n" % self.counter * (size // 5 + 1))[:size]

    def add_file(self) -> None:
        path = self.fresh()
        _write(path, self.content())
        os.chmod(path, self.random.choice(MODES))

    def add_folder(self) -> None:
        path = self.fresh()
        os.mkdir(path)
        os.chmod(path, self.random.choice(FOLDER_MODES))

    def add_other(self) -> None:
        path = self.fresh()
        if self.random.random() < 0.3:
            os.mkfifo(path)
        else:
            os.symlink(self.random.choice([b"a", b"../..", b"/etc/passwd", b"\xff", b"."]), path)

    def rewrite(self) -> None:
        if files := self.paths(stat.S_IFREG):
            _write(self.random.choice(files), self.content())

    def append(self) -> None:
        if files := self.paths(stat.S_IFREG):
            path = self.random.choice(files)
            _write(path, Path(os.fsdecode(path)).read_bytes() + b"more")

    def delete(self) -> None:
        if paths := self.paths():
            _remove(self.random.choice(paths))

    def move(self) -> None:
        if paths := self.paths():
            source, target = self.random.choice(paths), self.fresh()
            if not target.startswith(source + b"/"):
                os.rename(source, target)

    def hard_link(self) -> None:
        if files := self.paths(stat.S_IFREG):
            os.link(self.random.choice(files), self.fresh())

    def chmod(self) -> None:
        if files := self.paths(stat.S_IFREG):
            os.chmod(self.random.choice(files), self.random.choice(MODES))
        if folders := self.paths(stat.S_IFDIR):
            os.chmod(self.random.choice(folders), self.random.choice(FOLDER_MODES))

    def swap_kind(self) -> None:
        if paths := self.paths():
            path = self.random.choice(paths)
            _remove(path)
            self.random.choice([os.mkdir, os.mkfifo, lambda p: _write(p, b"now a file")])(path)

    def attribute(self) -> None:
        if files := self.paths(stat.S_IFREG):
            os.setxattr(self.random.choice(files), b"user.seen", self.content()[:20])


def _write(path: bytes, data: bytes) -> None:
    with open(path, "wb") as file:
        file.write(data)


def _remove(path: bytes) -> None:
    if stat.S_ISDIR(os.lstat(path).st_mode):
        shutil.rmtree(path)
    else:
        os.unlink(path)
