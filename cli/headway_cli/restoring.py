"""What a restore changed, for people."""

from headway_cli.terminal import one_line
from headway_debugger.files import Restored
from headway_tools.snapshots import Change


def told(restored: Restored, *, dry_run: bool) -> str:
    """What was put back, or would be, one path a line."""
    if not restored.changes:
        return f"{restored.root} is like that already"
    head = f"{'would put' if dry_run else 'put'} back in {restored.root}:"
    left = restored.report.notes if restored.report else []
    notes = [f"  left    {one_line(note.path)} ({note.reason})" for note in left]
    return "\n".join([head, *map(_line, restored.changes), *notes])


def _line(change: Change) -> str:
    word = "remove" if change.after is None else "write"
    return f"  {word:<7} {one_line(change.path)}"
