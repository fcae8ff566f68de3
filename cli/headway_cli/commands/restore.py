"""`headway restore THREAD@STEP`: files and conversation as at a step; `undo` takes it back."""

import argparse

from headway_cli.restoring import told
from headway_cli.streams import put
from headway_cli.threads import opened, split_step
from headway_debugger.rewind import restore_thread


def run(args: argparse.Namespace) -> int:
    """Go back, or with --dry-run only say what would change."""
    name, step = split_step(args.step)
    with opened(name, args.workspace) as thread:
        node = thread.node(step)
        done = restore_thread(thread, node, force=args.force, dry_run=args.dry_run)
        put(told(done, thread.id, dry_run=args.dry_run, every=args.all))
    return 0
