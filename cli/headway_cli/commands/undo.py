"""`headway undo [THREAD]`: the files as they were before the thread's last run or restore."""

import argparse

from headway_cli.restoring import forget, remembered, told
from headway_cli.threads import opened
from headway_debugger.files import restore
from headway_tools.errors import HeadwayError


def run(args: argparse.Namespace) -> int:
    """Put the files back, or with --dry-run only say what would change."""
    with opened(args.thread) as thread, thread.snapshots() as snapshots:
        tip = thread.node("")
        values = thread.state(tip)
        earlier = remembered(thread.folder, tip.id)
        before = earlier or (values.get("hw_run") or {}).get("files_at_start")
        if not before:
            raise HeadwayError(f"thread {thread.record.thread} has changed no files")
        done = restore(
            snapshots,
            before,
            thread.root,
            known=None if earlier else values.get("hw_files"),
            force=args.force,
            dry_run=args.dry_run,
        )
        if earlier and not args.dry_run:
            forget(thread.folder)
        print(told(done, thread.root, dry_run=args.dry_run))
    return 0
