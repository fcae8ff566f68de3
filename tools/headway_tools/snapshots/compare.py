"""Differences of two snapshots, from their trees: equal folders are never opened."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping

from headway_tools.snapshots.entries import Change, ChangeKind, Entry, Groups, join
from headway_tools.snapshots.rules import object_store

_INDEX = re.compile(rb"(^|/)\.git/(.*/)?index$")

ReadFolder = Callable[[bytes], Mapping[bytes, Entry]]

EMPTY = Entry("folder", 0o700, b"")
"""The root of a folder that does not exist yet."""


def compare(
    read: ReadFolder, before: Entry, after: Entry, links: tuple[Groups, Groups] = ((), ())
) -> list[Change]:
    """All changes from `before` to `after`, sorted by path, folders before what they hold.

    `read` gives the entries of a folder's id. `links` are both sides' hard-link groups: a file
    that differs only in them is of kind `links`. The root itself has the path `b""`.
    """
    changes = {change.raw: change for change in _entry(read, b"", before, after)}
    for path in _regrouped(*links):
        if path not in changes:
            entry = lookup(read, after, path)
            if entry is not None:
                changes[path] = Change(path, "links", entry, entry)
    return sorted(changes.values(), key=lambda change: change.raw.split(b"/"))


def without_object_stores(changes: Iterable[Change]) -> list[Change]:
    """Leave out what lies in git object stores: those only grow, and refs tell what changed."""
    return [change for change in changes if object_store(change.raw) is None]


def without_indexes(changes: Iterable[Change]) -> list[Change]:
    """Leave out git's indexes: `git status` alone rewrites them."""
    return [change for change in changes if not _INDEX.search(change.raw)]


def in_groups(groups: Groups) -> dict[bytes, tuple[bytes, ...]]:
    return {path: group for group in groups for path in group}


def lookup(read: ReadFolder, root: Entry, path: bytes) -> Entry | None:
    """The entry at `path` below `root`, else None."""
    entry: Entry | None = root
    for name in path.split(b"/") if path else ():
        if entry is None or entry.kind != "folder":
            return None
        entry = _read(read, entry).get(name)
    return entry


def _regrouped(before: Groups, after: Groups) -> Iterator[bytes]:
    """Paths whose hard-link group is not the same on both sides."""
    if before == after:
        return
    old, new = in_groups(before), in_groups(after)
    for path in old.keys() | new.keys():
        if old.get(path) != new.get(path):
            yield path


def _read(read: ReadFolder, entry: Entry | None) -> Mapping[bytes, Entry]:
    return read(entry.id) if entry is not None and entry.kind == "folder" and entry.id else {}


def _entry(
    read: ReadFolder, path: bytes, before: Entry | None, after: Entry | None
) -> Iterator[Change]:
    kind = _kind(before, after)
    if kind is not None:
        yield Change(path, kind, before, after)
    if before is not None and after is not None and before.content == after.content:
        return
    old, new = _read(read, before), _read(read, after)
    for name in old.keys() | new.keys():
        a, b = old.get(name), new.get(name)
        if a is None or b is None or a != b:
            yield from _entry(read, join(path, name), a, b)


def _kind(before: Entry | None, after: Entry | None) -> ChangeKind | None:
    if before is None:
        return "added"
    if after is None:
        return "deleted"
    if before.kind != after.kind:
        return "type"
    if before.kind != "folder" and before.content != after.content:
        return "changed"
    return "mode" if before.attributes != after.attributes else None
