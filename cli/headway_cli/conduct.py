"""Carries one run from its first event to its exit code: output, questions, Ctrl-C."""

import argparse
import asyncio
import sys
from collections.abc import Mapping
from contextlib import aclosing
from typing import Any

from headway.run import Control, astream_agent
from headway.status import exit_code
from headway_cli.ask import ask_each, ask_on_terminal, somebody_answers
from headway_cli.output import Human, Json, JsonLines, Outcome, Output, Work
from headway_cli.signals import StopSignals
from headway_cli.threads import bring_of_run, diff_of_run


def output_for(args: argparse.Namespace) -> Output:
    """The form that `--json` or `--jsonl` chose."""
    if args.json:
        return Json(sys.stdout, sys.stderr)
    if args.jsonl:
        return JsonLines(sys.stdout)
    return Human(Work(diff_of_run, bring_of_run), sys.stdout, sys.stderr)


def conduct(task: str | None, output: Output, **options: Any) -> int:
    """Run, ask on the terminal what waits, and go on until the run has ended; the exit code.

    `options` go to `headway.run.astream_agent` as they are.
    """
    outcome, ended_by = asyncio.run(_follow(task, output, options))
    while outcome["status"] == "needs_approval" and somebody_answers():
        try:
            decisions = ask_each(outcome["pending"][0], ask_on_terminal)
        except (KeyboardInterrupt, EOFError):
            break
        options |= {"thread_id": outcome["thread"], "decisions": decisions}
        outcome, ended_by = asyncio.run(_follow(None, output, options))
    output.end(outcome)
    return exit_code(outcome["status"], outcome["limit"], ended_by=ended_by)


async def _follow(
    task: str | None, output: Output, options: Mapping[str, Any]
) -> tuple[Outcome, int]:
    """Show every event; the outcome, and the signal that ended it, 0 for none or Ctrl-C."""
    control = Control()
    signals = StopSignals(control)
    signals.install(asyncio.get_running_loop())
    outcome: Outcome = {}
    async with aclosing(astream_agent(task, control=control, **options)) as events:
        async for event in events:
            if event["type"] == "end":
                outcome = event["outcome"]
            else:
                output.event(event)
    return outcome, signals.ended_by
