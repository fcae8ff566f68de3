"""Existing paths that a wrong one may have meant."""

import difflib
import os
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Final

_MOST_ENTRIES: Final = 20_000
_MOST: Final = 5
_SKIPPED: Final = frozenset({".git", ".venv", "node_modules", "__pycache__"})


def nearest_paths(root: Path, wanted: str) -> list[str]:
    """At most five: the same name in other folders first, then similar names, by whole path.

    Looks at the first 20,000 entries below `root` and follows no links.
    """
    name = _name(wanted)
    paths = list(islice(_paths(root), _MOST_ENTRIES))
    same = [path for path in paths if _name(path) == name]
    return list(dict.fromkeys(same + _similar(wanted, name, paths)))[:_MOST]


def _similar(wanted: str, name: str, paths: list[str]) -> list[str]:
    names = {_name(path) for path in paths}
    close = set(difflib.get_close_matches(name, names, n=_MOST, cutoff=0.7))
    candidates = [path for path in paths if _name(path) in close]
    return sorted(candidates, key=lambda path: -_ratio(path, wanted))


def _ratio(one: str, other: str) -> float:
    return difflib.SequenceMatcher(None, one, other).ratio()


def _paths(root: Path) -> Iterator[str]:
    for folder, folders, files in os.walk(root):
        folders[:] = sorted(name for name in folders if name not in _SKIPPED)
        for name in (*folders, *sorted(files)):
            yield Path(folder, name).relative_to(root).as_posix()


def _name(path: str) -> str:
    return path.rstrip("/").rpartition("/")[2]
