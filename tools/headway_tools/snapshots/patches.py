"""A difference as text for people: unified diffs, binary files by size, bounded."""

import difflib
from collections.abc import Callable, Iterable, Iterator

from headway_tools.snapshots.entries import Change, Entry, display

_MAX_TEXT = 256 << 10  # bytes; larger files are named by size: difflib is quadratic
_WORDS = {"links": "other hard links", "type": "another kind", "mode": "mode"}

Read = Callable[[bytes], bytes]


def render(changes: Iterable[Change], read: Read, limit: int) -> str:
    """The changes as one text of at most about `limit` characters; says how many are left out."""
    changes = list(changes)
    parts: list[str] = []
    length = 0
    for count, change in enumerate(changes):
        text = "".join(_change(change, read))
        if length + len(text) > limit:
            parts.append(text[: limit - length].rpartition("\n")[0])
            parts.append(f"\n... cut at {limit} characters; paths left: {len(changes) - count}\n")
            break
        parts.append(text)
        length += len(text)
    return "".join(parts)


def _change(change: Change, read: Read) -> Iterator[str]:
    before, after = change.before, change.after
    files = [entry for entry in (before, after) if entry is not None and entry.kind == "file"]
    if not files or change.kind in ("mode", "links", "type"):
        yield f"{_headline(change)}\n"
        return
    if any(entry.size > _MAX_TEXT for entry in files):
        yield f"{_headline(change)} (large)\n"
        return
    old, new = (_text(entry, read) for entry in (before, after))
    if old is None or new is None:
        yield f"{_headline(change)} (binary)\n"
        return
    if change.kind == "changed" and before and after and before.mode != after.mode:
        yield f"mode {shown(change.path)}: {before.mode:o} -> {after.mode:o}\n"
    yield from _unified(change, old, new)


def _unified(change: Change, old: str, new: str) -> Iterator[str]:
    names = (
        "/dev/null" if change.before is None else f"a/{shown(change.path)}",
        "/dev/null" if change.after is None else f"b/{shown(change.path)}",
    )
    lines = list(difflib.unified_diff(_lines(old), _lines(new), *names))
    if not lines:
        yield f"{_headline(change)}\n"
    for line in lines:
        yield line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n"


def shown(path: str) -> str:
    """A path on one line: control characters in it are escapes."""
    return "".join(
        character.encode("unicode_escape").decode() if character < " " else character
        for character in path
    )


def _lines(text: str) -> list[str]:
    """Split at newlines only: `splitlines` would also split at form feeds and the like."""
    return [line + "\n" for line in text.split("\n")[:-1]] + [
        line for line in text.split("\n")[-1:] if line
    ]


def _text(entry: Entry | None, read: Read) -> str | None:
    """The content as text, None where it is binary."""
    data = read(entry.id) if entry is not None else b""
    if b"\0" in data:
        return None
    try:
        return data.decode()
    except UnicodeDecodeError:
        return None


def _headline(change: Change) -> str:
    word = _WORDS.get(change.kind, change.kind)
    sides = (_side(change.before), _side(change.after))
    if change.kind == "mode" and change.before and change.after:
        sides = (f"{change.before.mode:o}", f"{change.after.mode:o}")
    return f"{word} {shown(change.path)}: {sides[0]} -> {sides[1]}"


def _side(entry: Entry | None) -> str:
    if entry is None:
        return "nothing"
    if entry.kind == "file":
        return f"file, {entry.size} bytes"
    if entry.kind == "link":
        return f"link to {shown(display(entry.id))}"
    if entry.kind == "unkept":
        return f"not kept ({entry.reason})"
    return entry.kind
