"""Asks the person at the terminal about pending calls, in the shape of LangChain's HITLRequest.

Nothing is asked where nobody can answer: then the run ends with exit code 6.
"""

import json
import os
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from headway_cli.change import change_of_call
from headway_cli.events import INDENT, gist_of_call
from headway_cli.streams import tell
from headway_cli.terminal import one_line, visible

Prompt = Callable[[str], str]
Decision = dict[str, Any]


def somebody_answers() -> bool:
    """True where both the questions and the answers go through a terminal."""
    return sys.stdin.isatty() and sys.stderr.isatty()


def ask_each(question: Mapping[str, Any], prompt: Prompt) -> list[Decision]:
    """One decision for each action, in order, after what was wrong with the last ones.
    `EOFError`: the input ended, nothing is decided."""
    if question.get("error"):
        prompt(f"not taken: {one_line(question['error'])} (Enter goes on) ")
    return [_ask(action, prompt) for action in question["action_requests"]]


def _ask(action: Mapping[str, Any], prompt: Prompt) -> Decision:
    args = action.get("args") or {}
    if action.get("name") == "ask_user":
        return {"type": "respond", "message": prompt(_question(args)).strip()}
    why = action.get("description")
    question = (f"{one_line(why)}\n" if why else "") + _call(action, args)
    while True:
        word = prompt(f"{question}\n[y]es, [n]o, [e]dit, [s]how it whole? ").strip().lower()
        if word in ("y", "yes"):
            return {"type": "approve"}
        if word in ("n", "no"):
            return {"type": "reject", "message": prompt("why (the model reads it)? ").strip()}
        if word in ("s", "show"):
            question = visible(_as_text(args))
        if word in ("e", "edit") and (edited := _edited(args, prompt)) is not None:
            return {"type": "edit", "edited_action": {"name": action["name"], "args": edited}}


def _question(args: Mapping[str, Any]) -> str:
    options = "".join(f"\n- {visible(str(option))}" for option in args.get("options") or ())
    return f"{visible(str(args.get('question')))}{options}\n> "


def _call(action: Mapping[str, Any], args: Mapping[str, Any]) -> str:
    head = f"{one_line(str(action.get('name', '')))} {gist_of_call(args)}"
    return "\n".join([head, *(f"{INDENT}{line}" for line in change_of_call(args))])


def _as_text(args: Mapping[str, Any]) -> str:
    return json.dumps(args, indent=2, ensure_ascii=False)


def _edited(args: Mapping[str, Any], prompt: Prompt) -> dict[str, Any] | None:
    """The arguments as the person's editor leaves them; None where they are no JSON object or
    as they were."""
    with tempfile.TemporaryDirectory(prefix="headway-edit-") as folder:
        file = Path(folder, "arguments.json")
        file.write_text(_as_text(args) + "\n", encoding="utf-8", errors="surrogatepass")
        editor = os.environ.get("VISUAL") or os.environ.get("EDITOR") or "vi"
        try:
            subprocess.run([*shlex.split(editor), str(file)], check=True)
            edited = json.loads(file.read_text(encoding="utf-8", errors="surrogatepass"))
        except (OSError, ValueError, subprocess.CalledProcessError) as error:
            prompt(f"not taken: {one_line(str(error))} (Enter goes on) ")
            return None
    return edited if isinstance(edited, dict) and edited != args else None


def ask_on_terminal(question: str) -> str:
    """Ask on stderr, so that stdout stays the result; `EOFError` at the end of input."""
    tell(question, end="")
    line = sys.stdin.readline()
    if not line:
        raise EOFError
    return line
