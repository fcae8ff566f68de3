"""`headway run TASK`: a new thread, in a folder or in a copy of it."""

import argparse

from headway.job import refuse_first
from headway.threads import new_thread_id
from headway_cli.ask import somebody_answers
from headway_cli.conduct import conduct, output_for
from headway_cli.options import configure, run_options, text_of, the_home, workspace_of
from headway_cli.terminal import one_line
from headway_debugger.copies import make_copy
from headway_tools.errors import HeadwayError
from headway_tools.given import check_workspace
from headway_tools.home import Home, is_plain


def run(args: argparse.Namespace) -> int:
    """Do the task; the exit code of its status."""
    task = text_of(args.task)
    options = run_options(configure(args))
    workspace = workspace_of(args.workspace)
    home = the_home()
    thread = new_thread_id(task) if args.thread is None else _new_name(args.thread, home)
    check_workspace(workspace, data_home=home.path, unsafe=args.unsafe_workspace)
    options |= {
        "workspace": workspace,
        "unsafe_workspace": args.unsafe_workspace,
        "interactive": somebody_answers() or options["ask"] != "never",
    }
    if args.copy:
        refuse_first(task, **options)
        options["root"] = make_copy(home, thread, workspace)
    return conduct(task, output_for(args), thread_id=thread, **options)


def _new_name(name: str, home: Home) -> str:
    """A thread's name that can be typed and is not taken."""
    if not is_plain(name):
        raise HeadwayError(
            f"{one_line(name)!r} is no thread name: up to 64 letters, digits, '.', '_' and '-', "
            "a letter or digit first"
        )
    if home.thread(name).record.exists():
        raise HeadwayError(f'thread {name} exists: go on with `headway resume {name} "…"`')
    return name
