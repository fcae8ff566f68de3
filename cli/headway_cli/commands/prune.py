"""`headway prune THREAD`: keeps the newest steps of each branch, and only the files they name."""

import argparse

from headway_cli.streams import put
from headway_cli.threads import opened
from headway_debugger.cleanup import prune_thread


def run(args: argparse.Namespace) -> int:
    """Remove older steps; say how many."""
    with opened(args.thread, args.workspace) as thread:
        done = prune_thread(thread, args.keep)
        put(f"removed {done.removed} steps of {thread.id}, kept {done.kept}")
    return 0
