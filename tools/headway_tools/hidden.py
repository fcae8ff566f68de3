"""Finds the files to hide, in milliseconds also in a large workspace.

A folder that has not changed since it was read is not read again: its time of change tells, unless
it was changed just before it was read.
"""

import fnmatch
import os
import re
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from headway_tools.links import Identity, identity
from headway_tools.patterns import covers, expand

_SETTLED_NS: Final = 20_000_000


@dataclass(frozen=True)
class _Folder:
    """What one folder held: its subfolders, and the names that a pattern may mean."""

    signature: tuple[int, int]
    settled: bool
    folders: tuple[str, ...]
    candidates: tuple[str, ...]


class HiddenSearch:
    """The existing paths of a workspace that `patterns` hide.

    `by_name`: they do so wherever a folder is moved.
    """

    def __init__(self, patterns: Sequence[str]) -> None:
        self.patterns = tuple(patterns)
        positive = [pattern for pattern in patterns if not pattern.startswith("!")]
        self.by_name = all("/" not in pattern.strip("/") for pattern in positive)
        names = "|".join(fnmatch.translate(pattern.strip("/")) for pattern in positive)
        self._name = re.compile(names or r"(?!)")
        self._known: dict[str, _Folder] = {}

    def find(self, root: Path) -> Iterator[str]:
        """Topmost paths relative to `root`; no link is followed, `.git` is left out."""
        if not self.by_name:
            yield from expand(root, self.patterns, anywhere=True)
            return
        waiting = [""]
        while waiting:
            above = waiting.pop()
            folder = self._read(root, above)
            hidden = {name for name in folder.candidates if self._means(above + name)}
            yield from (above + name for name in hidden)
            waiting += [f"{above}{name}/" for name in folder.folders if name not in hidden]

    def links(self, root: Path) -> Iterator[str]:
        """Those of the paths that are symbolic links."""
        return (path for path in self.find(root) if (root / path).is_symlink())

    def leads_to(self, root: Path) -> set[Identity]:
        """The files and folders that those links lead to."""
        found = set()
        for path in self.links(root):
            with suppress(OSError):
                found.add(identity((root / path).stat()))
        return found

    def _means(self, path: str) -> bool:
        return covers(self.patterns, path, anywhere=True)

    def _read(self, root: Path, above: str) -> _Folder:
        path = f"{root}/{above}"
        try:
            now = time.time_ns()
            found = os.lstat(path)
            signature = (found.st_mtime_ns, found.st_ino)
            known = self._known.get(path)
            if known is None or not known.settled or known.signature != signature:
                settled = now - found.st_mtime_ns > _SETTLED_NS
                known = self._known[path] = self._scan(path, signature, settled)
        except OSError:
            return _Folder((0, 0), False, (), ())
        return known

    def _scan(self, path: str, signature: tuple[int, int], settled: bool) -> _Folder:
        folders, candidates = [], []
        with os.scandir(path) as entries:
            for entry in entries:
                if entry.is_dir(follow_symlinks=False) and entry.name != ".git":
                    folders.append(entry.name)
                if self._name.match(entry.name):
                    candidates.append(entry.name)
        return _Folder(signature, settled, tuple(folders), tuple(candidates))
