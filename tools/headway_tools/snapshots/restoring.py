"""Bringing a folder to a state: in place, or in a fresh folder."""

import contextlib
import os
import shutil
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from headway_tools.errors import HeadwayError
from headway_tools.snapshots.apply import Apply
from headway_tools.snapshots.compare import (
    EMPTY,
    ReadFolder,
    compare,
    lookup,
    without_object_stores,
)
from headway_tools.snapshots.copying import copy_unkept
from headway_tools.snapshots.entries import Change, Entry, Note, Report
from headway_tools.snapshots.plan import Plan, ancestors, make_plan, takes_folder_away
from headway_tools.snapshots.states import ROOT_FLAGS, State, States
from headway_tools.snapshots.writer import TreeWriter

_ROUNDS = 3


LARGE = ("too_large", "store_full")
"""Reasons for which a plain file is not kept."""


def plan_restore(states: States, now: State, target: State, made: State | None = None) -> Plan:
    """What brings a folder from `now` to `target`, and what is left alone; large files that are as
    in `made` are not."""

    def holds_folder(path: bytes) -> bool:
        entry = lookup(states.folder, target.root, path)
        return entry is not None and entry.kind == "folder"

    def is_own(change: Change) -> bool:
        entry = change.before
        if made is None or entry is None or entry.kind != "unkept" or entry.reason not in LARGE:
            return False
        then = lookup(states.folder, made.root, change.raw)
        return then is not None and then.content == entry.content

    return make_plan(states.compare(now, target), now.notes, holds_folder, is_own)


def restore(
    states: States,
    target: State,
    root: Path,
    only: Callable[[str], bool] | None = None,
    made: State | None = None,
) -> Report:
    """Restore in place, and look again: what could not be seen at first (a folder that was not
    readable) is done in a second round, and the report is of what was really reached."""
    before = now = states.record(root)
    notes = {note.raw: note for note in target.notes}
    done: dict[bytes, Change] = {}
    tried: list[Change] = []
    for _ in range(_ROUNDS):
        plan = plan_restore(states, now, target, made)
        notes.update((note.raw, note) for note in plan.notes)
        changes = chosen(plan.changes, only)
        if changes in ([], tried) and not now.leftovers:
            break
        tried = changes
        _check_content(states, tried)
        refused = _change(states, target, root, tried, leftovers=now.leftovers)
        notes.update((note.raw, note) for note in refused)
        done.update((change.raw, change) for change in tried)
        now = states.record(root)
    for change in plan_restore(states, now, target, made).changes:
        done.pop(change.raw, None)
    return Report(target.id, before.id, _sorted(done.values()), sorted(notes.values(), key=_raw))


def extract(states: States, target: State, folder: Path, original: Path | None) -> Report:
    """Fill a fresh folder beside its final place and rename it there."""
    if folder.exists() and any(folder.iterdir()):
        raise HeadwayError(f"{folder} is not empty: choose another folder")
    staging = folder.with_name(f".headway-extract-{folder.name}")
    try:
        if staging.exists():
            shutil.rmtree(staging)
        staging.mkdir(mode=0o700, parents=True)
        changes = compare(states.folder_with_times, EMPTY, target.root)
        wanted = [change for change in changes if not _is_unkept(change)]
        refused = _change(states, target, staging, wanted, fresh=True, original=original)
        if refused:
            raise HeadwayError(f"cannot create {refused[0].path} below {folder}")
        staging.rename(folder)
    except OSError as error:
        raise HeadwayError(f"cannot create {folder}: {error.strerror}") from error
    finally:
        shutil.rmtree(staging, ignore_errors=True)
    return Report(target.id, None, _sorted(wanted), target.notes)


def chosen(changes: list[Change], only: Callable[[str], bool] | None) -> list[Change]:
    """The changes that `only` wants by path, and the folders that they need; a folder that holds
    something else is not taken away."""
    if only is None:
        return changes
    wanted = {change.raw for change in changes if only(change.path)}
    needed = {f for c in changes if c.raw in wanted and c.after for f in ancestors(c.raw)}
    held = {f for c in changes if c.raw not in wanted and c.before for f in ancestors(c.raw)}
    taken = [change for change in changes if change.raw in wanted | needed]
    return [c for c in taken if c.raw not in held or not takes_folder_away(c)]


def _check_content(states: States, changes: list[Change]) -> None:
    """Raise for a damaged object before anything is touched."""
    for change in changes:
        if change.after is not None and change.after.kind == "file" and change.kind != "mode":
            for _ in states.store.parts(change.after.id):
                pass


def _change(
    states: States,
    target: State,
    root: Path,
    changes: list[Change],
    *,
    leftovers: Iterable[bytes] = (),
    fresh: bool = False,
    original: Path | None = None,
) -> list[Note]:
    """Carry out `changes`; returns what the system refused."""
    read: ReadFolder = states.folder_with_times if fresh else states.folder

    def entry_at(path: bytes) -> Entry | None:
        return lookup(read, target.root, path)

    try:
        with _writing(root) as writer:
            for leftover in leftovers:
                writer.delete_file(leftover)
            apply = Apply(writer, states.store.parts, entry_at, target.groups, fresh=fresh)
            apply.put(changes)
            if original is not None:
                copy_unkept(original, target.notes, writer)
            apply.finish(changes)
            return apply.notes
    except OSError as error:
        raise HeadwayError(
            f"cannot restore {root}: {error.strerror}; mend that and restore again to complete it"
        ) from error


@contextlib.contextmanager
def _writing(root: Path) -> Iterator[TreeWriter]:
    handle = os.open(root, ROOT_FLAGS)
    try:
        writer = TreeWriter(handle)
    finally:
        os.close(handle)
    try:
        yield writer
    finally:
        writer.close()


def _is_unkept(change: Change) -> bool:
    return change.after is not None and change.after.kind == "unkept"


def _sorted(changes: Iterable[Change]) -> list[Change]:
    return sorted(without_object_stores(changes), key=_raw)


def _raw(item: Change | Note) -> list[bytes]:
    return item.raw.split(b"/")
