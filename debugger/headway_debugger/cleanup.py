"""Removing threads of the data folder, and thinning them out with the files that they name."""

import shutil
from pathlib import Path

from headway.storage import sqlite_saver
from headway.threads import find_record
from headway_debugger.files import snapshots_named
from headway_debugger.threads import VERBS, Thread, hold
from headway_debugger.undo_notes import load_undo
from headway_debugger.upkeep import Pruned, heads_after_prune, last_steps, prune
from headway_tools.errors import HeadwayError
from headway_tools.home import Home, ThreadFolder


def remove_thread(home: Home, name: str, workspace: Path | None = None) -> str:
    """Remove a thread with journal, snapshots and branches' folders; its name. The workspace
    stays as it is. A thread whose record or rows are damaged goes too, by its whole name.

    `HeadwayError`: no such thread, or a run is under way on one of its branches.
    """
    thread_id = (
        name if home.thread(name).path.is_dir() else find_record(home, name, workspace).thread
    )
    folder = home.thread(thread_id)
    with hold(home, thread_id, all_locks(folder)):
        with sqlite_saver(home) as saver:
            saver.delete_thread(thread_id)
        try:
            shutil.rmtree(folder.path)
        except OSError as error:
            raise HeadwayError(f"cannot remove {error.filename}: {error.strerror}") from error
    return thread_id


def prune_thread(thread: Thread, keep: int) -> Pruned:
    """Keep the newest `keep` steps of each branch and the files that they or `undo` name.

    `HeadwayError`: a run is under way on one of its branches.
    """
    if keep < 1:
        raise HeadwayError("prune keeps at least one step; to remove the thread use rm")
    with hold(thread.home, thread.id, all_locks(thread.folder)):
        now = thread.again()
        kept = last_steps(now.tree, keep)
        done = prune(now.backend, now.tree, kept)
        now.heads.save(heads_after_prune(now.heads.load(), now.tree, kept))
        left = now.again()
        if left.record.workspace:
            noted = load_undo(left.folder).snapshots()
            named = snapshots_named(left.backend, left.tree, left.tree.nodes.values())
            with left.snapshots() as snapshots:
                snapshots.collect(named | noted)
    return done


def all_locks(folder: ThreadFolder) -> list[str]:
    """Every lock that runs and verbs of the thread have used."""
    files = folder.locks.iterdir() if folder.locks.is_dir() else ()
    return [VERBS, "main", *(file.name for file in files if file.suffix != ".lease")]
