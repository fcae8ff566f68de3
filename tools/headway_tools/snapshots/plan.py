"""What a restore will do and what it leaves alone: decided before anything is touched.

A restore destroys nothing that a snapshot of the present state could not bring back: paths that
are not in the target and not kept either stay, and so do the folders they lie in, but for large
files of one's own making that are as they were made. Git's object stores only grow.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from headway_tools.snapshots.entries import Change, Note, Reason
from headway_tools.snapshots.rules import is_cache, object_store


@dataclass(frozen=True)
class Plan:
    changes: list[Change]
    notes: list[Note]


def make_plan(
    changes: Iterable[Change],
    present: Iterable[Note],
    in_target: Callable[[bytes], bool],
    is_own: Callable[[Change], bool],
) -> Plan:
    """Sort `changes` (present state → target) into what is done and what is not.

    `present` are the notes of the present state, `in_target` says whether the target holds a
    folder at a path, `is_own` whether a file that is not kept may be removed.
    """
    wanted = [change for change in changes if not _grows_only(change, in_target)]
    left = [*_unkept(wanted, is_own), *(note for note in present if _is_left(note))]
    occupied = {folder for note in left for folder in ancestors(note.raw)}
    done: list[Change] = []
    notes = [note for note in left if note.reason != "excluded"]
    skipped = {note.raw for note in notes}
    for change in wanted:
        if change.raw in skipped:
            continue
        if change.raw in occupied and takes_folder_away(change):
            reason: Reason = "not_empty" if change.after is None else "blocked"
            notes.append(Note(change.raw, reason))
            continue
        if change.after is not None and change.before and change.before.kind == "unkept":
            notes.append(Note(change.raw, "replaced", change.before.size))
        done.append(change)
    return Plan(done, notes)


def _grows_only(change: Change, in_target: Callable[[bytes], bool]) -> bool:
    if change.after is not None:
        return False
    store = object_store(change.raw)
    return store is not None and in_target(store)


def _unkept(changes: Iterable[Change], is_own: Callable[[Change], bool]) -> Iterator[Note]:
    """What the target does not hold, and what is here and neither in the target nor kept."""
    for change in changes:
        if change.after is not None and change.after.kind == "unkept":
            yield Note(change.raw, change.after.reason, change.after.size)
        elif change.after is not None or change.before is None or is_own(change):
            continue
        elif change.before.kind == "unkept":
            yield Note(change.raw, change.before.reason, change.before.size)


def _is_left(note: Note) -> bool:
    return note.reason == "excluded" and not is_cache(note.raw)


def takes_folder_away(change: Change) -> bool:
    before, after = change.before, change.after
    was_folder = before is not None and before.kind == "folder"
    return was_folder and (after is None or after.kind != "folder")


def ancestors(path: bytes) -> Iterator[bytes]:
    """The folders above `path`, the root last."""
    while path:
        path = path.rpartition(b"/")[0]
        yield path
