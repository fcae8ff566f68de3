"""Names of branches and which one is current, as kept by the caller.

LangGraph's head of a thread is whatever was written last, so after a fork it is the fork. A
branch is known by its first checkpoint; its tip follows from the tree and can never be stale.
"""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final, Protocol

from headway_tools.errors import HeadwayError
from headway_tools.notes import read_note, write_note

MAIN: Final = "main"
"""The original line of a thread."""

_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_-]{0,63}")
_VERSION = 1


@dataclass(frozen=True)
class Heads:
    """Branches by name: the id of each one's first checkpoint. Names of removed ones stay taken."""

    current: str = MAIN
    starts: Mapping[str, str] = field(default_factory=dict)

    @property
    def names(self) -> dict[str, str]:
        """Names by first checkpoint, as `build_tree` wants them."""
        return {start: name for name, start in self.starts.items()}

    def named(self, name: str, start: str) -> "Heads":
        """With a branch called `name`; `HeadwayError`: no proper name, or taken."""
        if not _NAME.fullmatch(name):
            raise HeadwayError(f"{name!r} is no branch name: a letter, then letters, digits, - _")
        if self.starts.get(name, start) != start:
            raise HeadwayError(f"branch {name} exists: choose another name")
        kept = {other: first for other, first in self.starts.items() if first != start}
        return replace(self, starts={**kept, name: start})

    def keeping(self, starts: Mapping[str, str]) -> "Heads":
        """With these branches as well (`ThreadTree.starts`), so that their names stay as shown."""
        return replace(self, starts={**self.starts, **starts})

    def on(self, branch: str) -> "Heads":
        """With `branch` as the current one."""
        return replace(self, current=branch)


class HeadStore(Protocol):
    """Where a caller keeps the heads of one thread."""

    def load(self) -> Heads: ...

    def save(self, heads: Heads) -> None: ...


@dataclass(frozen=True)
class HeadFile:
    """Heads as a JSON file, replaced atomically, mode 0600."""

    path: Path

    def load(self) -> Heads:
        """The stored heads, empty where there are none; `HeadwayError`: damaged or newer."""
        text = read_note(self.path)
        if text is None:
            return Heads()
        try:
            return _parsed(json.loads(text), self.path)
        except ValueError as error:
            raise HeadwayError(f"cannot read branch names from {self.path}: {error}") from error

    def save(self, heads: Heads) -> None:
        branches = {"current": heads.current, "branches": dict(heads.starts)}
        write_note(self.path, json.dumps({"version": _VERSION, **branches}))


def _parsed(stored: object, path: Path) -> Heads:
    if isinstance(stored, dict) and isinstance(stored.get("version"), int):
        if stored["version"] > _VERSION:
            raise HeadwayError(f"{path} was written by a newer headway: update headway")
        current, starts = stored.get("current"), stored.get("branches")
        if isinstance(current, str) and isinstance(starts, dict):
            return Heads(current, {str(name): str(start) for name, start in starts.items()})
    raise HeadwayError(f"{path} holds no branch names: remove it, they are counted anew")
