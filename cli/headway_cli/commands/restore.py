"""`headway restore THREAD@STEP`: the workspace as it was at a step; `undo` takes it back."""

import argparse

from headway_cli.restoring import remember, told
from headway_cli.threads import opened, split_step
from headway_debugger.files import files_at, restore


def run(args: argparse.Namespace) -> int:
    """Put the files back, or with --dry-run only say what would change."""
    name, step = split_step(args.step)
    with opened(name) as thread, thread.snapshots() as snapshots:
        tip = thread.node("")
        done = restore(
            snapshots,
            files_at(thread.backend, thread.tree, thread.node(step)),
            thread.root,
            known=thread.state(tip).get("hw_files"),
            force=args.force,
            dry_run=args.dry_run,
        )
        if done.report and done.report.before:
            remember(thread.folder, tip.id, done.report.before)
        print(told(done, thread.root, dry_run=args.dry_run))
    return 0
