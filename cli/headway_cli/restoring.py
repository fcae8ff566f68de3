"""What `restore`, `apply` and `undo` did last, kept beside the thread so that `undo` finds back."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from headway_cli.notes import read_note, write_note
from headway_cli.terminal import one_line
from headway_debugger.files import Restored
from headway_tools.errors import HeadwayError
from headway_tools.home import ThreadFolder
from headway_tools.snapshots import Change


@dataclass(frozen=True)
class Put:
    """A folder that was brought to the snapshot `after`; `before` is the way back, None where
    that was used."""

    root: Path
    after: str
    before: str | None = None


def remember(folder: ThreadFolder, checkpoint: str, put: Put) -> None:
    """Keep `put`, done while the thread stood at `checkpoint`: a later run makes it void."""
    note = {
        "checkpoint": checkpoint,
        "root": str(put.root),
        "after": put.after,
        "before": put.before,
    }
    write_note(_file(folder), json.dumps(note))


def remembered(folder: ThreadFolder, checkpoint: str) -> Put | None:
    """What was put last, None where a run came after it or nothing was."""
    text = read_note(_file(folder))
    if text is None:
        return None
    try:
        note = json.loads(text)
    except ValueError as error:
        raise HeadwayError(f"cannot read {_file(folder)}: {error}; remove it") from error
    if note["checkpoint"] != checkpoint:
        return None
    return Put(Path(note["root"]), note["after"], note["before"])


def known_state(last: Put | None, root: Path, values: Mapping[str, Any]) -> str | None:
    """The snapshot of `root` that headway saw last: of what was put there, else of the run."""
    if last is not None and last.root == root:
        return last.after
    return values.get("hw_files")


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
