"""What a snapshot leaves out, and git's object store, which is only ever added to.

Caches are rebuilt by the tool that made them. Dependency folders hold tens of thousands of files
that a command can bring back: keeping them would cost seconds and hundreds of megabytes for each
thread. An agent can change them all the same, so every note, restore and fork names them;
`exclude=CACHES` keeps them.
"""

import os

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

TEMPORARY = b".headway-"
"""Names of atomic writes under way, or left by a killed process."""
RESTORING = TEMPORARY + b"restore-"


def object_store(path: bytes) -> bytes | None:
    """The git object store that `path` is or lies in, else None.

    `.git/objects`, `.git/modules/*/objects` and `.git/lfs/objects` are object stores; a branch
    called `objects` lies below `refs` and `logs` and is none.
    """
    parts = path.split(b"/")
    if b".git" not in parts:
        return None
    for count in range(parts.index(b".git") + 1, len(parts)):
        if parts[count] in (b"refs", b"logs"):
            return None
        if parts[count] == b"objects":
            return b"/".join(parts[: count + 1])
    return None


class Exclusions:
    """Folders to leave out: by name anywhere, or by the end of their path (`a/b`).

    `withheld` are paths from the top that are as if they were not there.
    """

    def __init__(self, patterns: tuple[str, ...], withheld: tuple[str, ...] = ()) -> None:
        self._withheld = tuple(os.fsencode(path) for path in withheld)
        raw = [pattern.strip("/").encode() for pattern in patterns]
        self._names = frozenset(p for p in raw if b"/" not in p)
        self._tails = tuple(b"/" + p for p in raw if b"/" in p)

    def withholds(self, path: bytes) -> bool:
        return any(path == own or path.startswith(own + b"/") for own in self._withheld)

    def match(self, folder: bytes, name: bytes) -> bool:
        if name in self._names:
            return True
        return bool(self._tails) and (b"/" + folder + b"/" + name).endswith(self._tails)


_CACHES = Exclusions(CACHES)


def is_cache(path: bytes) -> bool:
    """Whether the folder is one that its tool makes anew."""
    folder, _, name = path.rpartition(b"/")
    return _CACHES.match(folder, name)
