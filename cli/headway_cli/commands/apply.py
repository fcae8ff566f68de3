"""`headway apply THREAD`: brings the result of a run with --copy into the workspace."""

import argparse
from pathlib import Path

from headway_cli.copies import apply_copy
from headway_cli.restoring import Put, remember, told
from headway_cli.threads import opened


def run(args: argparse.Namespace) -> int:
    """Apply, or with --dry-run only say what would change; `undo` takes it back."""
    with opened(args.thread) as thread:
        workspace = Path(thread.record.workspace or "")
        done = apply_copy(thread.folder, workspace, force=args.force, dry_run=args.dry_run)
        if done.report:
            put = Put(workspace, done.report.snapshot, done.report.before)
            remember(thread.folder, thread.node("").id, put)
    print(told(done, workspace, dry_run=args.dry_run))
    return 0
