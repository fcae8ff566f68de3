"""`headway rm THREAD…`: removes threads with all that belongs to them."""

import argparse

from headway_cli.options import the_home, workspace_of
from headway_cli.streams import put
from headway_debugger.cleanup import remove_thread


def run(args: argparse.Namespace) -> int:
    """Remove each; the workspace stays as it is."""
    folder = workspace_of(args.workspace)
    for name in args.threads:
        put(f"removed {remove_thread(the_home(), name, folder)}")
    return 0
