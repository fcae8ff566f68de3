"""The folder that the agent works on, and what in it is protected or hidden.

Tools hand in the path that the model gave and get a `Place`: found beneath the folder's handle,
checked under the given name and under the name that links lead to. Errors of the file system
become `ToolFailure`s here.
"""

import os
from collections.abc import Iterator, MutableMapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from errno import EACCES, EEXIST, ELOOP, ENAMETOOLONG, EPERM, EROFS
from functools import cached_property, partial
from pathlib import Path, PurePosixPath
from stat import S_ISREG
from typing import Final

from headway_tools.beneath import OutsideRootError, Place, resolve
from headway_tools.errors import FailureCode, ToolFailure
from headway_tools.hidden import HiddenSearch
from headway_tools.links import identity, names_of
from headway_tools.nearest import nearest_paths
from headway_tools.patterns import covers, escape, is_glob
from headway_tools.text import unescape_bytes

ALWAYS_PROTECTED: Final = ("**/.git",)
"""The user's own git runs and obeys what is in there: hooks, aliases, filters, a moved gitdir.
The sandbox holds only those (`headway_tools.sandbox.mounts.git_paths`): git must write the rest."""

_MAX_PATH = 4096


@dataclass(frozen=True)
class Workspace:
    """A folder under the name that the model uses, and where it really is."""

    path: Path
    """Absolute name in history and results."""
    root: Path
    """The real folder; differs from `path` on a fork's branch or a copy."""
    protect: tuple[str, ...] = ()
    """Files, folders and globs from the workspace's top that no tool changes."""
    hide: tuple[str, ...] = ()
    """Globs, by name at any depth or by path, that no tool reads."""
    withheld: tuple[str, ...] = ()
    """headway's own data and the user's keys, where they lie in it: as good as not there."""
    reads: MutableMapping[str, str] = field(default_factory=dict, compare=False, repr=False)
    """Digest of each file as the model last saw it; any mapping that outlives this object does."""

    def locate(self, given: str) -> str:
        """`given` as a posix path from the workspace's top; absolute ones must lie below it."""
        if "\0" in given or not given.strip() or len(given) > _MAX_PATH:
            raise ToolFailure(
                "invalid_arguments",
                "the path is empty, longer than 4096 characters, or holds a NUL",
                "send a path from the workspace's top",
            )
        path = unescape_bytes(given)
        if not path.startswith("/"):
            return path
        for prefix in self._names():
            if path == prefix or path.startswith(prefix.rstrip("/") + "/"):
                return path[len(prefix) :].lstrip("/") or "."
        raise self._outside(given)

    @contextmanager
    def place(
        self, given: str, *, writing: bool = False, make_parents: bool = False
    ) -> Iterator[Place]:
        """Where `given` leads; `ToolFailure` if that is outside, hidden or, to write, protected."""
        relative = self.locate(given)
        self._check(relative, writing)
        make = partial(self._check, writing=writing) if make_parents else None
        with (
            self._failures(given),
            self._open_root() as root,
            resolve(root, relative, aliases=self._names(), make_parents=make) as place,
        ):
            self._check(place.path, writing)
            self._check_other_names(place)
            yield place

    def really(self, given: str) -> str | None:
        """Where `given` leads through links, from the workspace's top; None if that is outside."""
        with suppress(ToolFailure, OSError, ValueError):
            top = os.path.realpath(self.root)
            target = os.path.realpath(Path(top, self.locate(given)))
            return target[len(top) + 1 :] if target.startswith(f"{top}/") else None
        return None

    def has(self, name: str) -> bool:
        """Whether a file or folder of this name stands at this place of the workspace."""
        return "\0" not in name and os.path.lexists(self.root / name)

    def is_protected(self, relative: str) -> bool:
        """Whether tools refuse to change it; the target of a protected link counts."""
        return covers((*self.protect, *self._link_targets(), *ALWAYS_PROTECTED), relative)

    def is_hidden(self, relative: str) -> bool:
        own = covers([escape(path) for path in self.withheld], relative)
        return own or covers(self.hide, relative, anywhere=True)

    def _names(self) -> list[str]:
        """Absolute paths that mean the workspace, as given and with links resolved."""
        return list(dict.fromkeys([str(self.path), os.path.realpath(self.path), str(self.root)]))

    def _check(self, relative: str, writing: bool) -> None:
        if self.is_hidden(relative):
            raise _hidden(relative)
        if writing and self.is_protected(relative):
            raise ToolFailure(
                "protected", f"{relative} is protected", "leave it and change something else"
            )

    def _check_other_names(self, place: Place) -> None:
        """Refuse what a hidden link leads to, and a hard link to what is hidden."""
        if self._leads_to_hidden(place.path) or self._is_linked_to_hidden(place):
            raise _hidden(place.path)

    def _leads_to_hidden(self, relative: str) -> bool:
        targets = self._hidden.leads_to(self.root)
        path = PurePosixPath(relative)
        with suppress(FileNotFoundError):
            parts = (*path.parents[-2::-1], path)
            return any(identity((self.root / part).lstat()) in targets for part in parts)
        return False

    def _is_linked_to_hidden(self, place: Place) -> bool:
        with suppress(FileNotFoundError):
            info = place.stat()
            linked = S_ISREG(info.st_mode) and info.st_nlink > 1
            return linked and any(map(self.is_hidden, names_of(self.root, info)))
        return False

    @cached_property
    def _hidden(self) -> HiddenSearch:
        return HiddenSearch(self.hide)

    def _link_targets(self) -> Iterator[str]:
        top = self.root.resolve()
        for pattern in self.protect:
            if not is_glob(pattern) and not pattern.startswith("!"):
                target = (top / pattern.lstrip("/")).resolve()
                if target != top and target.is_relative_to(top):
                    yield escape(target.relative_to(top).as_posix())

    @contextmanager
    def _open_root(self) -> Iterator[int]:
        handle = os.open(self.root, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            yield handle
        finally:
            os.close(handle)

    @contextmanager
    def _failures(self, given: str) -> Iterator[None]:
        try:
            yield
        except OutsideRootError as error:
            raise self._outside(given) from error
        except OSError as error:
            raise self._failure(given, error) from error

    def _outside(self, given: str) -> ToolFailure:
        return ToolFailure(
            "outside_workspace",
            f"{given} is, or leads, outside the workspace {self.path}",
            "use a path inside the workspace",
        )

    def _failure(self, given: str, error: OSError) -> ToolFailure:
        if isinstance(error, FileNotFoundError | NotADirectoryError):
            similar = nearest_paths(self.root, self.locate(given))
            nearest = [path for path in similar if not self.is_hidden(path)]
            step = "try one of the nearest paths" if nearest else "list the folder to find it"
            return ToolFailure("not_found", f"{given} does not exist", step, nearest=nearest)
        code, step = _FAILURES.get(error.errno or 0, ("io_error", "try again or work without it"))
        return ToolFailure(code, f"{given}: {error.strerror}", step)


def _hidden(path: str) -> ToolFailure:
    return ToolFailure("hidden", f"{path} is hidden from tools", "work without it")


_FAILURES: Final[dict[int, tuple[FailureCode, str]]] = {
    EACCES: ("permission_denied", "work without this file"),
    EPERM: ("permission_denied", "work without this file"),
    EEXIST: ("exists", "read it first: it appeared just now"),
    EROFS: ("permission_denied", "write somewhere else"),
    ELOOP: ("not_a_file", "its links form a circle: use the real path"),
    ENAMETOOLONG: ("invalid_arguments", "use a shorter name"),
}
