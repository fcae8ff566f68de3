"""`headway apply THREAD`: brings the result of a run with --copy into the workspace."""

import argparse

from headway_cli.restoring import applied
from headway_cli.streams import put
from headway_cli.threads import opened
from headway_debugger.copies import apply_copy


def run(args: argparse.Namespace) -> int:
    """Apply, or with --dry-run only say what would change; `undo` takes it back."""
    with opened(args.thread, args.workspace) as thread:
        done = apply_copy(thread, force=args.force, dry_run=args.dry_run)
        put(applied(done, dry_run=args.dry_run, every=args.all))
    return 0
