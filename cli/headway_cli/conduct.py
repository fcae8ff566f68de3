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
from headway_cli.streams import OutputLost
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

    `options` go to `headway.run.astream_agent` as they are. A signal that takes stdout away as
    well, of a terminal that was closed, still decides the code.
    """
    signals = StopSignals()
    try:
        outcome = asyncio.run(_follow(task, output, signals, options))
        while outcome["status"] == "needs_approval" and somebody_answers():
            try:
                decisions = ask_each(outcome["pending"][0], ask_on_terminal)
            except (KeyboardInterrupt, EOFError):
                break
            options |= {"thread_id": outcome["thread"], "decisions": decisions}
            outcome = asyncio.run(_follow(None, output, signals, options))
        output.end(outcome)
    except OutputLost:
        if not signals.ended_by:
            raise
        return 128 + signals.ended_by
    return exit_code(outcome["status"], outcome["limit"], ended_by=signals.ended_by)


async def _follow(
    task: str | None, output: Output, signals: StopSignals, options: Mapping[str, Any]
) -> Outcome:
    """Show every event; the outcome."""
    control = Control()
    signals.install(asyncio.get_running_loop(), control)
    outcome: Outcome = {}
    async with aclosing(astream_agent(task, control=control, **options)) as events:
        async for event in events:
            if event["type"] == "end":
                outcome = event["outcome"]
            else:
                output.event(event)
    return outcome
