"""`headway resume [THREAD] [MESSAGE]`: goes on where a thread stopped, with its own settings."""

import argparse
from collections.abc import Mapping
from typing import Any

from headway.approvals import ASK_USER
from headway.testing import PolicyModel
from headway.threads import ThreadRecord, stored_options
from headway_cli.ask import Decision, somebody_answers
from headway_cli.commands.demo import demo_model, started_here
from headway_cli.conduct import conduct, output_for
from headway_cli.options import NO_MODEL, configure, text_of, with_limits
from headway_cli.settings import parse_pairs
from headway_cli.threads import (
    current_branch,
    named_branch,
    pending_actions,
    split_step,
    the_thread,
)
from headway_tools.errors import HeadwayError


def run(args: argparse.Namespace) -> int:
    """Go on; the exit code of the new status."""
    configure(args)
    name, wanted = split_step(args.thread)
    record = the_thread(name, args.workspace)
    branch = named_branch(record.thread, wanted) if wanted else current_branch(record)
    return conduct(
        None if args.message is None else text_of(args.message),
        output_for(args),
        thread_id=record.thread,
        branch=branch,
        decisions=decisions_of(args, record.thread, branch),
        **options_of(args, record, branch),
    )


def options_of(args: argparse.Namespace, record: ThreadRecord, branch: str) -> dict[str, Any]:
    """The branch's own options, with what the command line changes."""
    kept = stored_options(record, branch)
    changed = parse_pairs(args.model_arg or [], option="--model-arg")
    return kept | {
        "model": args.model or record.kept(branch).model or _policy(record),
        "model_args": {**kept.get("model_args", {}), **changed},
        "protocol": args.protocol or kept.get("protocol", "auto"),
        "window": args.window or kept.get("window"),
        "limits": with_limits(kept["limits"], parse_pairs(args.limit or [], option="--limit")),
        "interactive": somebody_answers() or kept.get("interactive", False),
    }


def _policy(record: ThreadRecord) -> PolicyModel:
    if not started_here(record):
        raise HeadwayError(NO_MODEL)
    return demo_model()


def decisions_of(args: argparse.Namespace, thread: str, branch: str) -> list[Decision] | None:
    """One decision for each action that waits, from the flags; None without a flag."""
    if not args.approve and args.reject is None and args.answer is None:
        return None
    if args.message:
        raise HeadwayError("give a message or a decision: a message drops what waits")
    waiting = pending_actions(thread, branch)
    if not waiting:
        raise HeadwayError(f"nothing waits in thread {thread}")
    if args.answer is not None and all(action["name"] != ASK_USER for action in waiting):
        raise HeadwayError("no question waits: decide with --approve or --reject WHY")
    return [_decision(args, action) for action in waiting]


def _decision(args: argparse.Namespace, action: Mapping[str, Any]) -> Decision:
    """--answer is for questions, --approve for calls, --reject for what neither decides."""
    question = action["name"] == ASK_USER
    if question and args.answer is not None:
        return {"type": "respond", "message": args.answer}
    if args.reject is not None:
        return {"type": "reject", "message": args.reject}
    if args.approve and not question:
        return {"type": "approve"}
    if question:
        raise HeadwayError("a question waits: give --answer TEXT, too, or --reject WHY alone")
    raise HeadwayError(f"a call of {action['name']} waits: give --approve or --reject WHY, too")
