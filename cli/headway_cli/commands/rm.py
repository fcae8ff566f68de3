"""`headway rm THREAD…`: removes threads with all that belongs to them."""

import argparse
import shutil

from headway_cli.threads import Opened, opened
from headway_debugger.upkeep import delete
from headway_tools.locks import BranchLock

WAIT = 0.5
"""Seconds that a run on the thread is waited for."""


def run(args: argparse.Namespace) -> int:
    """Remove each; the workspace stays as it is."""
    for name in args.threads:
        with opened(name) as thread:
            _remove(thread)
            print(f"removed {thread.record.thread}")
    return 0


def _remove(thread: Opened) -> None:
    with BranchLock(thread.folder, thread.heads.load().current).acquire(WAIT):
        delete(thread.backend, thread.record.thread)
        shutil.rmtree(thread.folder.path)
