"""Finding a file beneath a folder's handle: no name leads out, whatever is swapped meanwhile.

The path is walked one name at a time through handles that never follow links; links are read
and walked like the rest. Unlike openat2(RESOLVE_BENEATH) this works on every kernel, takes
absolute links back into the folder, and yields the parent handle that an atomic replace needs.
"""

import os
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from errno import EINVAL, ELOOP, ENAMETOOLONG, ENOENT

_MOST_LINKS = 40
_MOST_STEPS = 5_000
_FOLDER = os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


class OutsideRootError(Exception):
    """The path, or a link on it, leads out of the folder."""


@dataclass(frozen=True)
class Place:
    """Where a path leads; the file itself need not exist."""

    parent: int
    """Open O_PATH handle of the folder that holds it."""
    name: str
    """Its name in that folder; "." for a folder given with a trailing slash, and for the root."""
    path: str
    """Its path from the root, free of links; "." for the root."""

    def open(self, flags: int, mode: int = 0o600) -> int:
        """A handle; a link that was put here since raises ELOOP, a FIFO never blocks."""
        safe = os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
        return os.open(self.name, flags | safe, mode, dir_fd=self.parent)

    def stat(self) -> os.stat_result:
        return os.stat(self.name, dir_fd=self.parent, follow_symlinks=False)


@contextmanager
def resolve(
    root: int,
    path: str,
    *,
    aliases: Sequence[str] = (),
    make_parents: Callable[[str], None] | None = None,
) -> Iterator[Place]:
    """Walk `path` from the folder handle `root`; the place's handle closes on exit.

    `aliases` are absolute paths that mean the root when a link names them. With `make_parents`
    missing folders are made; it is called with the path of each before and may raise to refuse.
    Raises `OutsideRootError`, or OSError as the kernel would (ENOENT and ENOTDIR for the
    folders on the way, ELOOP after 40 links, ENAMETOOLONG after 5,000 folders).
    """
    walk = _Walk(root, aliases, make_parents)
    try:
        yield walk.run(path)
    finally:
        os.close(walk.here)


class _Walk:
    """One resolution: the handle where it stands, the names behind it, the names to come."""

    def __init__(
        self, root: int, aliases: Sequence[str], make_parents: Callable[[str], None] | None
    ) -> None:
        self.root = root
        self.aliases = aliases
        self.make_parents = make_parents
        self.here = os.dup(root)
        self.names: list[str] = []
        self.pending: deque[str] = deque()
        self.links = 0
        self.steps = 0

    def run(self, path: str) -> Place:
        self.pending.extend(path.split("/"))
        while self.pending:
            name = self.pending.popleft()
            if name in ("", "."):
                continue
            if name == "..":
                self._go_up()
            elif self.pending:
                self._enter(name)
            elif (target := _link_target(self.here, name)) is not None:
                self._follow(target)
            else:
                return Place(self.here, name, "/".join([*self.names, name]))
        return Place(self.here, ".", "/".join(self.names) or ".")

    def _go_up(self) -> None:
        if not self.names:
            raise OutsideRootError
        self.pending.extendleft(reversed(self.names[:-1]))
        self._restart()

    def _restart(self) -> None:
        self._move(os.dup(self.root))
        self.names = []

    def _move(self, handle: int) -> None:
        os.close(self.here)
        self.here = handle

    def _enter(self, name: str) -> None:
        self.steps += 1
        if self.steps > _MOST_STEPS:
            raise OSError(ENAMETOOLONG, os.strerror(ENAMETOOLONG))
        try:
            self._move(self._open_folder(name))
            self.names.append(name)
        except NotADirectoryError:
            target = _link_target(self.here, name)
            if target is None:
                raise
            self._follow(target)

    def _open_folder(self, name: str) -> int:
        try:
            return os.open(name, _FOLDER, dir_fd=self.here)
        except FileNotFoundError:
            if self.make_parents is None:
                raise
        self.make_parents("/".join([*self.names, name]))
        with suppress(FileExistsError):
            os.mkdir(name, dir_fd=self.here)
            _give_to_owner_of_parent(name, self.here)
        return os.open(name, _FOLDER, dir_fd=self.here)

    def _follow(self, target: str) -> None:
        self.links += 1
        if self.links > _MOST_LINKS:
            raise OSError(ELOOP, os.strerror(ELOOP))
        if target.startswith("/"):
            target = self._from_root(target)
            self._restart()
        self.pending.extendleft(reversed(target.split("/")))

    def _from_root(self, target: str) -> str:
        for alias in self.aliases:
            if target == alias or target.startswith(alias.rstrip("/") + "/"):
                return target[len(alias) :].lstrip("/")
        raise OutsideRootError


def _link_target(folder: int, name: str) -> str | None:
    try:
        return os.readlink(name, dir_fd=folder)
    except OSError as error:
        if error.errno in (EINVAL, ENOENT):
            return None
        raise


def _give_to_owner_of_parent(name: str, parent: int) -> None:
    """What root makes in someone else's folder belongs to that folder's owner."""
    owner = os.fstat(parent)
    if os.geteuid() == 0 and owner.st_uid != 0:
        os.chown(name, owner.st_uid, owner.st_gid, dir_fd=parent, follow_symlinks=False)
