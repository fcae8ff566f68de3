"""What a snapshot leaves out, and git's object store, which is only ever added to.

Caches are rebuilt by the tool that made them. Dependency folders hold tens of thousands of files
that a command can bring back: keeping them would cost seconds and hundreds of megabytes for each
thread. An agent can change them all the same, so every note, restore and fork names them;
`exclude=CACHES` keeps them.
"""

from enum import Enum

CACHES = (
    "__pycache__",
    ".pytest_cache",
    ".mypy_cache",
    ".ruff_cache",
    ".import_linter_cache",
    "node_modules/.cache",
    ".parcel-cache",
    ".gradle/caches",
)
DEPENDENCIES = (".venv", "node_modules", ".tox", ".nox")
DEFAULT_EXCLUDED = CACHES + DEPENDENCIES

REBUILT = frozenset(name.encode() for name in CACHES if "/" not in name)
"""Caches that go with the folder they lie in when a restore removes that folder."""

TEMPORARY = b".headway-"
"""Names of atomic writes under way, or left by a killed process."""
RESTORING = TEMPORARY + b"restore-"


class Zone(Enum):
    """Where in a git repository a folder lies, as far as snapshots care."""

    PLAIN = 0
    GIT = 1
    OBJECTS = 2

    def enter(self, name: bytes) -> "Zone":
        """The zone of the folder `name` in a folder of this zone.

        `.git/objects`, `.git/modules/*/objects` and `.git/lfs/objects` are object stores; a
        branch called `objects` lies below `refs` and `logs` and is none.
        """
        if self is Zone.OBJECTS:
            return Zone.OBJECTS
        if self is Zone.GIT:
            if name == b"objects":
                return Zone.OBJECTS
            return Zone.PLAIN if name in (b"refs", b"logs") else Zone.GIT
        return Zone.GIT if name == b".git" else Zone.PLAIN


def object_store(path: bytes) -> bytes | None:
    """The object store that `path` is or lies in, else None."""
    zone = Zone.PLAIN
    parts = path.split(b"/")
    for count, name in enumerate(parts, 1):
        zone = zone.enter(name)
        if zone is Zone.OBJECTS:
            return b"/".join(parts[:count])
    return None


class Exclusions:
    """Folders to leave out: by name anywhere, or by the end of their path (`a/b`)."""

    def __init__(self, patterns: tuple[str, ...]) -> None:
        raw = [pattern.strip("/").encode() for pattern in patterns]
        self._names = frozenset(p for p in raw if b"/" not in p)
        self._tails = tuple(b"/" + p for p in raw if b"/" in p)

    def match(self, folder: bytes, name: bytes) -> bool:
        if name in self._names:
            return True
        return bool(self._tails) and (b"/" + folder + b"/" + name).endswith(self._tails)
