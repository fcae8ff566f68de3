"""`headway undo [THREAD]`: back to before the last run, restore, apply or fork."""

import argparse

from headway_cli.restoring import told
from headway_cli.streams import put
from headway_cli.threads import opened
from headway_debugger.rewind import undo_thread


def run(args: argparse.Namespace) -> int:
    """Go back, or with --dry-run only say what would change."""
    with opened(args.thread, args.workspace) as thread:
        done = undo_thread(thread, force=args.force, dry_run=args.dry_run)
        put(told(done, thread.id, dry_run=args.dry_run, every=args.all))
    return 0
