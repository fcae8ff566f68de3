"""What a restore or an apply changed, for people."""

from headway_cli.terminal import one_line
from headway_debugger.copies import Applied
from headway_debugger.files import Restored
from headway_tools.snapshots import Change


def told(restored: Restored, *, dry_run: bool) -> str:
    """What was put back, or would be, one path a line."""
    return _lines(restored, "would put back in" if dry_run else "put back in")


def applied(done: Applied, *, dry_run: bool) -> str:
    """What an apply brought, or would bring; conflicts are named."""
    text = _lines(done, "would bring into" if dry_run else "brought into")
    word = "would need --force" if dry_run else "overwritten"
    return "\n".join([text, *(f"  {word}: {one_line(path)}" for path in done.conflicts)])


def _lines(restored: Restored, verb: str) -> str:
    if not restored.changes:
        return f"{restored.root} is like that already"
    head = f"{verb} {restored.root}:"
    left = restored.report.notes if restored.report else []
    notes = [f"  left    {one_line(note.path)} ({note.reason})" for note in left]
    return "\n".join([head, *map(_line, restored.changes), *notes])


def _line(change: Change) -> str:
    word = "remove" if change.after is None else "write"
    return f"  {word:<7} {one_line(change.path)}"
