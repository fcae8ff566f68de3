"""Protected paths as they were before a command, and putting them back after it.

Mounts hold what exists; this holds the rest: names that did not exist, links, names that match a
glob only later, folders exchanged as a whole, and everything where there are no mounts.
"""

import contextlib
import hashlib
import os
import shutil
import stat
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from headway_tools.errors import HeadwayError
from headway_tools.hidden import HiddenSearch
from headway_tools.patterns import expand
from headway_tools.sandbox.mounts import held_by_mounts, protected_paths
from headway_tools.sandbox.policy import CommandResult

MOST_BYTES: Final = 256 << 20
"""Of protected files that are kept to be put back."""

_CHUNK: Final = 1 << 20
_HELD: Final = "held by a mount"


@dataclass(frozen=True)
class _Entry:
    """`content`: digest of a file, target of a link; nothing for other kinds and for files that
    cannot be what they were."""

    mode: int
    owner: tuple[int, int]
    content: str
    signature: tuple[int, ...]

    def same(self, other: "_Entry | None") -> bool:
        return other is not None and (self.mode, self.content) == (other.mode, other.content)

    def like(self, other: "_Entry") -> bool:
        """Of the same kind: both files, both folders, both links."""
        return stat.S_IFMT(self.mode) == stat.S_IFMT(other.mode)


class ProtectedFiles:
    """Bytes, modes and links of the protected paths below `root` at one moment.

    Of more than `MOST_BYTES` the rest is left to the mounts, where there are `mounts`; what they
    do not hold is refused with `HeadwayError`. Links of what is to `hide` are protected, too:
    without them what they lead to would be seen.
    """

    def __init__(
        self,
        root: Path,
        patterns: Sequence[str],
        store: Path,
        *,
        hide: Sequence[str] = (),
        mounts: bool = False,
    ) -> None:
        self._root = root
        self._mounts = mounts
        self._held: list[str] = []
        self._room = MOST_BYTES
        self._hidden = HiddenSearch(hide)
        self._patterns = tuple(patterns)
        self._store = store
        self._tops: tuple[str, ...] = ()
        self._entries: dict[str, _Entry] = {}

    @classmethod
    def capture(cls, root: Path, patterns: Sequence[str], store_dir: Path) -> "ProtectedFiles":
        """The paths of `patterns`, and of git's own, as they are now; bytes go to `store_dir`."""
        files = cls(root, patterns, store_dir)
        files.refresh()
        return files

    def refresh(self) -> None:
        """Take what is there now as what must stay. Files that look unchanged are not read."""
        links = self._hidden.links(self._root)
        self._tops = (*protected_paths(self._root, self._patterns), *links)
        self._held = held_by_mounts(self._root, self._patterns) if self._mounts else []
        self._room = MOST_BYTES
        self._store.mkdir(parents=True, exist_ok=True, mode=0o700)
        entries = dict(self._present(keep=True))
        self._entries = entries

    def violations(self) -> tuple[str, ...]:
        """Protected paths that are changed, missing or new, sorted; of a tree only its top."""
        now = dict(self._present(keep=False))
        before = self._entries
        changed = {path for path, entry in before.items() if not entry.same(now.get(path))}
        trees = {path for path in changed if path not in now or not before[path].like(now[path])}
        tops = _topmost(sorted(trees | (now.keys() - before.keys())))
        return tuple(sorted({*tops, *(path for path in changed if not _is_below(path, tops))}))

    def repair(self) -> tuple[str, ...]:
        """Put the protected paths back as they were; returns what `violations` found."""
        found = self.violations()
        for path in found:
            self._put_back(path)
        if found:
            self._restore_signatures()
        return found

    def _present(self, *, keep: bool) -> Iterator[tuple[str, _Entry]]:
        """Every protected path that exists; with `keep`, new contents go to the store."""
        tops = {*self._tops, *expand(self._root, self._patterns)}
        for top in _topmost(sorted(tops)):
            if _is_reached_directly(self._root, top):
                for path in _tree(self._root, top):
                    with contextlib.suppress(FileNotFoundError):
                        yield path, self._entry(path, keep)

    def _entry(self, path: str, keep: bool) -> _Entry:
        place = self._root / path
        found = place.lstat()
        signature = (found.st_mtime_ns, found.st_ctime_ns, found.st_size, found.st_ino)
        known = self._entries.get(path)
        content = ""
        if stat.S_ISLNK(found.st_mode):
            content = str(place.readlink())
        elif stat.S_ISREG(found.st_mode):
            same = known is not None and known.signature == signature
            if keep and not self._has_room(path, found.st_size):
                content = _HELD
            elif known and (same or known.content == _HELD):
                content = known.content
            elif keep or (known and known.signature[2] == found.st_size):
                content = self._digest(place, keep)
        return _Entry(found.st_mode, (found.st_uid, found.st_gid), content, signature)

    def _has_room(self, path: str, size: int) -> bool:
        if size <= self._room:
            self._room -= size
            return True
        if not _is_below(path, self._held) and path not in self._held:
            raise HeadwayError(
                f"protected files have more than {MOST_BYTES >> 20} MiB, and {path} cannot be held "
                "by a read-only mount: protect less, or folders as a whole"
            )
        return False

    def _digest(self, place: Path, keep: bool) -> str:
        digest = hashlib.blake2b(digest_size=20)
        try:
            with place.open("rb") as file:
                while chunk := file.read(_CHUNK):
                    digest.update(chunk)
        except PermissionError:
            return "unreadable"
        name = digest.hexdigest()
        if keep and not (self._store / name).exists():
            fresh = self._store / f".{name}.{os.getpid()}.{threading.get_ident()}"
            shutil.copyfile(place, fresh)
            fresh.replace(self._store / name)
        return name

    def _put_back(self, path: str) -> None:
        entry = self._entries.get(path)
        if entry and _is_reached_directly(self._root, path):
            now = self._entry(path, keep=False)
            if entry.like(now) and entry.content == now.content:
                (self._root / path).chmod(stat.S_IMODE(entry.mode))
                return
        self._remove(path)
        for name in sorted(self._entries):
            if name == path or name.startswith(path + "/"):
                self._restore(name, self._entries[name])

    def _remove(self, path: str) -> None:
        if not _is_reached_directly(self._root, path):
            return
        place = self._root / path
        if place.is_dir() and not place.is_symlink():
            shutil.rmtree(place)
        else:
            place.unlink(missing_ok=True)

    def _restore(self, path: str, entry: _Entry) -> None:
        place = self._root / path
        self._make_folders(path)
        if stat.S_ISDIR(entry.mode):
            place.mkdir()
        elif stat.S_ISLNK(entry.mode):
            place.symlink_to(entry.content)
            return
        elif stat.S_ISREG(entry.mode) and (self._store / entry.content).exists():
            shutil.copyfile(self._store / entry.content, place, follow_symlinks=False)
        else:
            return
        if os.geteuid() == 0:
            os.chown(place, *entry.owner, follow_symlinks=False)
        place.chmod(stat.S_IMODE(entry.mode))

    def _make_folders(self, path: str) -> None:
        """Folders above `path`; what took the place of one, a link elsewhere perhaps, goes."""
        current = self._root
        for part in path.split("/")[:-1]:
            current = current / part
            if current.is_symlink() or not current.is_dir():
                current.unlink(missing_ok=True)
                current.mkdir()

    def _restore_signatures(self) -> None:
        """Times of restored files as they were, deepest first, and the signatures of now."""
        for path in sorted(self._entries, reverse=True):
            entry = self._entries[path]
            with contextlib.suppress(OSError):
                times = (entry.signature[0], entry.signature[0])
                os.utime(self._root / path, ns=times, follow_symlinks=False)
        self._entries = dict(self._present(keep=False))


class Protection:
    """`ProtectedFiles` around commands that may overlap."""

    def __init__(self, files: ProtectedFiles) -> None:
        self._files = files
        self._lock = threading.Lock()
        self._running = 0

    def around(self, run: Callable[[], CommandResult]) -> CommandResult:
        """The result of one command, with the paths that had to be put back after it."""
        with self._lock:
            if not self._running:
                self._files.refresh()
            self._running += 1
        try:
            result = run()
        finally:
            with self._lock:
                self._running -= 1
                repaired = self._files.repair()
        return replace(result, repaired=repaired)


def _tree(root: Path, top: str) -> Iterator[str]:
    """`top` and everything below it, no link followed."""
    yield top
    if (root / top).is_symlink():
        return
    try:
        entries = sorted(os.scandir(root / top), key=lambda entry: entry.name)
    except (NotADirectoryError, FileNotFoundError, PermissionError):
        return
    for entry in entries:
        yield from (
            _tree(root, f"{top}/{entry.name}") if _is_folder(entry) else (f"{top}/{entry.name}",)
        )


def _is_folder(entry: "os.DirEntry[str]") -> bool:
    return entry.is_dir(follow_symlinks=False)


def _is_reached_directly(root: Path, path: str) -> bool:
    """It exists, and no folder above it is a link."""
    parts = path.split("/")
    above = (root.joinpath(*parts[:depth]) for depth in range(1, len(parts)))
    return all(folder.is_dir() and not folder.is_symlink() for folder in above) and os.path.lexists(
        root / path
    )


def _is_below(path: str, tops: Sequence[str]) -> bool:
    return any(path.startswith(top + "/") for top in tops)


def _topmost(paths: Sequence[str]) -> list[str]:
    """`paths` (sorted) without those below another one."""
    kept: list[str] = []
    known: set[str] = set()
    for path in paths:
        parts = path.split("/")
        if not any("/".join(parts[:depth]) in known for depth in range(1, len(parts))):
            kept.append(path)
            known.add(path)
    return kept
