"""`headway undo [THREAD]`: the files as they were before the thread's last run."""

import argparse
from pathlib import Path

from headway_cli.terminal import one_line
from headway_cli.threads import snapshot_of, snapshots_in, the_thread
from headway_tools.errors import HeadwayError
from headway_tools.snapshots import Change

SHOWN = 5
"""Paths named in a refusal."""


def run(args: argparse.Namespace) -> int:
    """Put the files back, or with --dry-run only say what would change."""
    record = the_thread(args.thread)
    values = snapshot_of(record.thread).values
    before, after = values.get("hw_run", {}).get("files_at_start"), values.get("hw_files")
    if not record.workspace or not before or not after:
        raise HeadwayError(f"thread {record.thread} has changed no files")
    root = Path(record.root or record.workspace)
    with snapshots_in(record.thread, Path(record.workspace)) as snapshots:
        changes = snapshots.plan(before, root)
        outside = snapshots.plan(after, root)
        if changes and outside and not args.force:
            raise HeadwayError(_refusal(root, outside))
        if changes and not args.dry_run:
            snapshots.restore(before, root)
    print(_told(changes, root, done=not args.dry_run))
    return 0


def _refusal(root: Path, outside: list[Change]) -> str:
    names = [change.path for change in outside[:SHOWN]] + ["…"] * (len(outside) > SHOWN)
    return f"{root} was changed after the run ({', '.join(names)}); --force overwrites that"


def _told(changes: list[Change], root: Path, *, done: bool) -> str:
    if not changes:
        return f"{root} is as it was before the run"
    head = f"put back in {root}:" if done else f"would put back in {root}:"
    return "\n".join([head, *(f"  {one_line(change.path)}" for change in changes)])
