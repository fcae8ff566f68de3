"""What a restore, an undo or an apply changed, for people."""

from typing import Final

from headway_cli.events import gist_of_call
from headway_cli.terminal import one_line, path_text
from headway_debugger.bring import Rewound
from headway_debugger.copies import Applied
from headway_debugger.files import Restored, named
from headway_tools.snapshots import Change

NOT_KEPT: Final = " (no snapshot holds it: gone for good)"

MOST_LINES: Final = 30
"""Files that are named without --all."""

_UNDONE: Final = {
    "run": "the last run on {of}",
    "restore": "the restore",
    "apply": "the apply",
    "fork": "the fork {of}, which has not run",
}


def told(done: Rewound, thread: str, *, dry_run: bool, every: bool) -> str:
    """What went back, or would: the thing itself, the files, the conversation."""
    head = "would take back" if dry_run else "took back"
    parts = [f"{head} {_UNDONE[done.undone].format(of=done.of)}"] if done.undone else []
    if done.undone != "fork":
        parts.append(_files(done, dry_run=dry_run, every=every))
    for call in done.may_have_run:
        what = f"{one_line(call['name'])} {gist_of_call(call['args'])}"
        parts.append(f"  may have run, in part or whole, when headway was killed: {what}")
    if done.outside:
        word = "would need --force, changed" if dry_run else "overwritten, changed"
        parts.append(f"  {word} outside this thread: {one_line(named(done.outside))}")
    if done.left:
        parts.append(f"  left as others changed them: {one_line(named(done.left))}")
    return "\n".join([*parts, _conversation(done, thread, dry_run=dry_run)])


def _files(done: Rewound, *, dry_run: bool, every: bool) -> str:
    verb = "would put back in" if dry_run else "put back in"
    where = f"the folder of {done.folder}, not the workspace: " if done.folder else ""
    return _lines(done, f"{verb} {where}".rstrip(), every=every)


def _conversation(done: Rewound, thread: str, *, dry_run: bool) -> str:
    """Where the conversation goes on, and that what was there stays."""
    if done.stays or done.undone == "apply":
        return f"the conversation stays: {thread}@{done.branch}"
    if dry_run:
        return f"the conversation would be that of step {done.step.name}"
    if done.step.branch == done.branch:
        where = f"back on {thread}@{done.branch}, step {done.step.name}"
    else:
        where = f"{thread}@{done.branch} now, as at step {done.step.name}"
    text = f"the conversation is {where}; headway resume {thread} goes on there"
    if done.undone == "run":
        text += f", headway restore {thread}@{done.of} brings the run back"
    return text


def applied(done: Applied, *, dry_run: bool, every: bool) -> str:
    """What an apply brought, or would bring; conflicts are named."""
    text = _lines(done, "would bring into" if dry_run else "brought into", every=every)
    word = "would need --force" if dry_run else "overwritten"
    return "\n".join([text, *(f"  {word}: {path_text(path)}" for path in done.conflicts)])


def _lines(restored: Restored, verb: str, *, every: bool) -> str:
    if not restored.changes:
        return f"{restored.root} is like that already"
    head = f"{verb} {restored.root}:"
    left = restored.report.notes if restored.report else []
    notes = [f"  left    {path_text(note.path)} ({note.reason})" for note in left]
    files = [_line(change) for change in restored.changes]
    return "\n".join([head, *_first(files, every=every), *_first(notes, every=every)])


def _first(lines: list[str], *, every: bool) -> list[str]:
    more = len(lines) - MOST_LINES
    if every or more <= 0:
        return lines
    return [*lines[:MOST_LINES], f"  … and {more:,} more; --all names them"]


def _line(change: Change) -> str:
    word = "remove" if change.after is None else "write"
    gone = change.before is not None and change.before.kind == "unkept"
    return f"  {word:<7} {path_text(change.path)}{NOT_KEPT if gone else ''}"
