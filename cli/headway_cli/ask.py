"""Asks the person at the terminal about pending calls, in the shape of LangChain's HITLRequest.

Nothing is asked where nobody can answer: then the run ends with exit code 6.
"""

import json
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from headway_cli.events import gist_of_call
from headway_cli.terminal import one_line, visible

Prompt = Callable[[str], str]
Decision = dict[str, Any]


def somebody_answers() -> bool:
    """True where both the questions and the answers go through a terminal."""
    return sys.stdin.isatty() and sys.stderr.isatty()


def ask_each(actions: Sequence[Mapping[str, Any]], prompt: Prompt) -> list[Decision]:
    """One decision for each action, in order; end of input rejects what is left."""
    return [_ask(action, prompt) for action in actions]


def _ask(action: Mapping[str, Any], prompt: Prompt) -> Decision:
    args = action.get("args") or {}
    name = str(action.get("name", ""))
    if name == "ask_user":
        return {"type": "respond", "message": prompt(f"{visible(str(args.get('question')))}\n> ")}
    question = f"{one_line(name)} {gist_of_call(args)}\n[y]es, [n]o, [s]how it whole? "
    while True:
        word = prompt(question).strip().lower()
        if word in ("y", "yes"):
            return {"type": "approve"}
        if word in ("n", "no"):
            return {"type": "reject", "message": prompt("why (the model reads it)? ")}
        if word in ("s", "show"):
            question = f"{visible(json.dumps(args, indent=2, ensure_ascii=False))}\n[y]es, [n]o? "


def ask_on_terminal(question: str) -> str:
    """Ask on stderr, so that stdout stays the result; end of input is a no."""
    print(question, end="", file=sys.stderr, flush=True)
    return sys.stdin.readline() or "no"
