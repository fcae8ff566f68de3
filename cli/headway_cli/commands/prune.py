"""`headway prune THREAD`: keeps the newest steps of each branch, and only the files they name."""

import argparse

from headway_cli.threads import opened
from headway_debugger.files import snapshots_named
from headway_debugger.upkeep import heads_after_prune, last_steps, prune
from headway_debugger.views import tree
from headway_tools.locks import BranchLock

WAIT = 0.5
"""Seconds that a run on the thread is waited for."""


def run(args: argparse.Namespace) -> int:
    """Remove older steps; say how many."""
    with opened(args.thread) as thread:
        name = thread.heads.load().current
        with BranchLock(thread.folder, name).acquire(WAIT), thread.snapshots() as snapshots:
            keep = last_steps(thread.tree, args.keep)
            done = prune(thread.backend, thread.tree, keep)
            thread.heads.save(heads_after_prune(thread.heads.load(), thread.tree, keep))
            left = tree(thread.backend, thread.record.thread, thread.heads)
            if thread.record.workspace:
                snapshots.collect(snapshots_named(thread.backend, left, left.nodes.values()))
        print(f"removed {done.removed} steps of {thread.record.thread}, kept {done.kept}")
    return 0
