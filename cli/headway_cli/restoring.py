"""What `restore` replaced, kept beside the thread so that `undo` finds the way back."""

import json
from pathlib import Path

from headway_cli.terminal import one_line
from headway_debugger.files import Restored
from headway_tools.errors import HeadwayError
from headway_tools.home import ThreadFolder
from headway_tools.snapshots import Change


def remember(folder: ThreadFolder, checkpoint: str, before: str) -> None:
    """`before` is the files' state that a restore replaced while the thread stood at
    `checkpoint`; a later run makes the note void."""
    note = {"checkpoint": checkpoint, "before": before}
    _file(folder).write_text(json.dumps(note), encoding="utf-8")


def remembered(folder: ThreadFolder, checkpoint: str) -> str | None:
    """The state before the last restore, None where a run came after it or none was made."""
    try:
        note = json.loads(_file(folder).read_text(encoding="utf-8"))
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as error:
        raise HeadwayError(f"cannot read {_file(folder)}: {error}; remove it") from error
    return str(note["before"]) if note["checkpoint"] == checkpoint else None


def forget(folder: ThreadFolder) -> None:
    """The note has been used."""
    _file(folder).unlink(missing_ok=True)


def told(restored: Restored, root: Path, *, dry_run: bool) -> str:
    """What was put back, or would be, one path a line."""
    if not restored.changes:
        return f"{root} is like that already"
    head = f"would put back in {root}:" if dry_run else f"put back in {root}:"
    left = restored.report.notes if restored.report else []
    notes = [f"  left    {one_line(note.path)} ({note.reason})" for note in left]
    return "\n".join([head, *map(_line, restored.changes), *notes])


def _line(change: Change) -> str:
    word = "remove" if change.after is None else "write"
    return f"  {word:<7} {one_line(change.path)}"


def _file(folder: ThreadFolder) -> Path:
    return folder.path / "restored.json"
