"""`headway restore THREAD@STEP`: the workspace as it was at a step; `undo` takes it back."""

import argparse

from headway.heads import MAIN
from headway_cli.restoring import Put, known_state, remember, remembered, told
from headway_cli.threads import opened, split_step
from headway_debugger.files import files_at, restore


def run(args: argparse.Namespace) -> int:
    """Put the files back, or with --dry-run only say what would change."""
    name, step = split_step(args.step)
    with opened(name) as thread, thread.snapshots() as snapshots:
        tip = thread.node("")
        wanted = files_at(thread.backend, thread.tree, thread.node(step))
        last = remembered(thread.folder, tip.id)
        known = known_state(last, thread.root, thread.state(thread.tree.branches[MAIN].tip))
        done = restore(
            snapshots, wanted, thread.root, known=known, force=args.force, dry_run=args.dry_run
        )
        if done.report:
            remember(thread.folder, tip.id, Put(thread.root, wanted, done.report.before))
        print(told(done, thread.root, dry_run=args.dry_run))
    return 0
