"""`headway run TASK`: a new thread, in a folder or in a copy of it."""

import argparse

from headway.threads import new_thread_id
from headway_cli.ask import somebody_answers
from headway_cli.conduct import conduct, output_for
from headway_cli.options import configure, run_options, the_home, workspace_of
from headway_debugger.copies import make_copy
from headway_tools.workspace import check_workspace


def run(args: argparse.Namespace) -> int:
    """Do the task; the exit code of its status."""
    options = run_options(configure(args))
    workspace = workspace_of(args.workspace)
    thread = args.thread or new_thread_id(args.task)
    home = the_home()
    check_workspace(workspace, data_home=home.path, unsafe=args.unsafe_workspace)
    root = make_copy(home.thread(thread), workspace) if args.copy else None
    return conduct(
        args.task,
        output_for(args),
        workspace=workspace,
        root=root,
        thread_id=thread,
        unsafe_workspace=args.unsafe_workspace,
        interactive=somebody_answers() or options["ask"] != "never",
        **options,
    )
