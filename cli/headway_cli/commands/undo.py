"""`headway undo [THREAD]`: the files as they were before the last run, restore or apply."""

import argparse

from headway_cli.restoring import Put, known_state, remember, remembered, told
from headway_cli.threads import opened
from headway_debugger.files import restore
from headway_tools.errors import HeadwayError


def run(args: argparse.Namespace) -> int:
    """Put the files back, or with --dry-run only say what would change."""
    with opened(args.thread) as thread, thread.snapshots() as snapshots:
        tip = thread.node("")
        values = thread.state(tip)
        last = remembered(thread.folder, tip.id)
        back = last if last and last.before else None
        root = back.root if back else thread.root_of(values)
        before = back.before if back else (values.get("hw_run") or {}).get("files_at_start")
        if not before:
            raise HeadwayError(f"thread {thread.record.thread} has changed no files")
        known = known_state(last, root, values)
        done = restore(snapshots, before, root, known=known, force=args.force, dry_run=args.dry_run)
        if done.report:
            remember(thread.folder, tip.id, Put(root, after=before))
        print(told(done, root, dry_run=args.dry_run))
    return 0
