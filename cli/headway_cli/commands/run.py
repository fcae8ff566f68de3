"""`headway run TASK`: a new thread, in a folder."""

import argparse

from headway_cli.ask import somebody_answers
from headway_cli.conduct import conduct, output_for
from headway_cli.options import configure, run_options, workspace_of


def run(args: argparse.Namespace) -> int:
    """Do the task; the exit code of its status."""
    options = run_options(configure(args))
    return conduct(
        args.task,
        output_for(args),
        workspace=workspace_of(args.workspace),
        thread_id=args.thread,
        unsafe_workspace=args.unsafe_workspace,
        interactive=somebody_answers(),
        **options,
    )
