"""Hard links: which names below a folder share one file's content."""

import os
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Final

_MOST_ENTRIES: Final = 200_000


def names_of(root: Path, info: os.stat_result) -> list[str]:
    """Paths below `root` of the file that `info` describes; looks at 200,000 entries at most."""
    wanted = (info.st_dev, info.st_ino)
    found: list[str] = []
    for path in islice(_files(root), _MOST_ENTRIES):
        status = path.stat(follow_symlinks=False)
        if (status.st_dev, status.st_ino) == wanted:
            found.append(path.relative_to(root).as_posix())
            if len(found) == info.st_nlink:
                break
    return found


def _files(root: Path) -> Iterator[Path]:
    for folder, _, files in os.walk(root):
        yield from (Path(folder, name) for name in files)
