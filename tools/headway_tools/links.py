"""Hard links: which names below a folder share one file's content."""

import os
import stat
from collections.abc import Collection, Iterator
from itertools import islice
from pathlib import Path
from typing import Final

Identity = tuple[int, int]
"""Device and inode."""

_MOST_ENTRIES: Final = 200_000


def identity(status: os.stat_result) -> Identity:
    return status.st_dev, status.st_ino


def names_of(root: Path, info: os.stat_result) -> list[str]:
    """Paths below `root` of the file that `info` describes; looks at 200,000 entries at most."""
    return list(islice(same_files(root, {identity(info)}), info.st_nlink))


def same_files(root: Path, wanted: Collection[Identity]) -> Iterator[str]:
    """Paths below `root` of the `wanted` files; looks at 200,000 entries at most."""
    for path, status in islice(_files(root), _MOST_ENTRIES):
        if identity(status) in wanted:
            yield path.relative_to(root).as_posix()


def linked_files(place: Path) -> Iterator[Identity]:
    """The regular files at or below `place` that have further names."""
    there = [(place, place.lstat())] if not place.is_dir() else islice(_files(place), _MOST_ENTRIES)
    for _, status in there:
        if stat.S_ISREG(status.st_mode) and status.st_nlink > 1:
            yield identity(status)


def _files(root: Path) -> Iterator[tuple[Path, os.stat_result]]:
    for folder, _, files in os.walk(root):
        for name in files:
            path = Path(folder, name)
            try:
                yield path, path.lstat()
            except FileNotFoundError:
                continue
