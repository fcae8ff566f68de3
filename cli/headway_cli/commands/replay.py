"""`headway replay THREAD`: recorded, through today's prompts and graph; or live, on a branch."""

import argparse
from typing import Final

from headway_cli.commands.resume import options_of
from headway_cli.conduct import conduct, output_for
from headway_cli.options import configure
from headway_cli.output import SCHEMA_VERSION, dumps
from headway_cli.streams import put
from headway_cli.terminal import one_line
from headway_cli.threads import opened, split_step
from headway_debugger.parts import said_at
from headway_debugger.replay import Divergence
from headway_debugger.rerun import replay_live, replay_recorded
from headway_debugger.threads import Thread
from headway_debugger.tree import TreeNode

DIVERGED: Final = 1


def run(args: argparse.Namespace) -> int:
    """Recorded, nothing runs and nothing is paid. With --check a divergence is exit code 1."""
    name, step = split_step(args.thread)
    with opened(name, args.workspace) as thread:
        node = thread.node(step)
        count = len(said_at(thread, node))
        found = _live(args, thread, node) if args.live else replay_recorded(thread, node)
    if args.json and not args.live:
        said = str(found) if found else None
        put(dumps({"schema_version": SCHEMA_VERSION, "thread": thread.id, "divergence": said}))
    elif not args.json:
        same = f"{count} messages of {thread.id} came out as recorded"
        put(one_line(f"{thread.id} diverged: {found}" if found else same))
    return DIVERGED if found and args.check else 0


def _live(args: argparse.Namespace, thread: Thread, node: TreeNode) -> Divergence | None:
    configure(args)
    output = output_for(args)

    def go_on(branch: str, message: str | None) -> None:
        options = options_of(args, thread.again().record, branch)
        conduct(message, output, thread_id=thread.id, branch=branch, **options)

    return replay_live(thread, node, go_on)[1]
