"""`headway fork THREAD@STEP`: a branch from any step, with the files of that moment."""

import argparse

from headway.models.named import open_model
from headway_cli.commands.resume import options_of
from headway_cli.conduct import conduct, output_for
from headway_cli.options import configure
from headway_cli.streams import put, tell
from headway_cli.threads import opened, split_step
from headway_debugger.branching import Change, fork_thread


def run(args: argparse.Namespace) -> int:
    """Make the branch; with --run go on with it at once."""
    configure(args)
    name, step = split_step(args.step)
    changes = [Change.parsed(text) for text in args.set or []]
    for change in changes:
        if change.what == "model":
            open_model(change.text)
    with opened(name, args.workspace) as thread:
        node = thread.node(step)
        if not step:
            tell(f"no step named: the branch begins at the newest, {thread.id}@{node.name}")
        branch = fork_thread(thread, node, args.name, changes)
        record = thread.again().record
    if args.run:
        options = options_of(args, record, branch)
        return conduct(None, output_for(args), thread_id=record.thread, branch=branch, **options)
    put(f"{record.thread}@{branch} from step {node.name}; headway resume {record.thread} runs it")
    return 0
