"""Small tasks on a local model: solved, loops caught, calls that the progress detector saved.

    python bench/local_model.py MODEL --base-url http://127.0.0.1:8080/v1 [--protocol native]

Any OpenAI-compatible server. Tasks that end with `no_progress` run once more with the detector
off, up to the cap: the difference in model calls is what it saved.
"""

import argparse
import ast
import operator
import re
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from headway import Limits, Outcome, run_agent
from headway.progress import ProgressSettings
from headway_tools.edit import edit_tool
from headway_tools.read_file import read_file_tool

CAP: Final = 10
"""Model calls of one run."""

FACTS: Final = {
    "population of lutra": "48210",
    "population of port ayla": "15990",
    "founding year of lutra": "1683",
    "height of mount brock": "2417 m",
    "capital of vesperia": "Quillon",
    "mayor of quillon": "Ada Renn",
}
_OPERATORS: Final[dict[type[ast.AST], Callable[..., Any]]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.USub: operator.neg,
}


def calculator(expression: str) -> str:
    """Evaluate an arithmetic expression such as 12*(3+4). Numbers only."""
    try:
        return f"{_value(ast.parse(expression, mode='eval').body):g}"
    except (SyntaxError, ValueError, ZeroDivisionError) as error:
        return f"error: {error}"


def lookup(query: str) -> str:
    """Look up one fact by its name, for example "population of Paris" or "mayor of Paris"."""
    found = FACTS.get(" ".join(query.lower().split()).rstrip("?."))
    return found or f"error: there is no entry {query!r}"


def _value(node: ast.AST) -> float:
    if isinstance(node, ast.Constant) and isinstance(node.value, int | float):
        return node.value
    if isinstance(node, ast.BinOp) and type(node.op) in _OPERATORS:
        return float(_OPERATORS[type(node.op)](_value(node.left), _value(node.right)))
    if isinstance(node, ast.UnaryOp) and type(node.op) in _OPERATORS:
        return float(_OPERATORS[type(node.op)](_value(node.operand)))
    raise ValueError("only numbers and + - * / ( ) are allowed")


@dataclass(frozen=True)
class Task:
    """A task, and what is right."""

    text: str
    answer: str
    """A pattern of the answer, or the whole file that is left."""
    file: bool = False
    """It is about a.txt in a workspace."""


TASKS: Final = (
    Task("What is 37*43?", r"\b1591\b"),
    Task("What is (1234-567)*3?", r"\b2001\b"),
    Task("What is 144 divided by 12, plus 5?", r"\b17\b"),
    Task("What is 9.5*8?", r"\b76\b"),
    Task("What is the population of Lutra?", r"\b48,?210\b"),
    Task("How high is Mount Brock? Look up: height of Mount Brock.", r"\b2,?417\b"),
    Task("What is the capital of Vesperia?", "Quillon"),
    Task("What is the population of Lutra plus the population of Port Ayla?", r"\b64,?200\b"),
    Task("Who is the mayor of the capital of Vesperia?", "Ada Renn"),
    Task("How many years passed from the founding year of Lutra to 1990?", r"\b307\b"),
    Task("What is the population of Nowhereville?", r"(?i)\bno entry|not|unknown|cannot|no data"),
    Task("What is the second line of the file a.txt?", "blue", file=True),
    Task("In the file a.txt replace the word blue by green.", "red\ngreen\n", file=True),
)


def run(task: Task, options: dict[str, Any], *, detector: bool) -> tuple[Outcome, bool]:
    """The outcome, and whether the task is solved."""
    progress = ProgressSettings.preset("default" if detector else "off")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "a.txt")
        path.write_text("red\nblue\n")
        where = {"workspace": folder} if task.file else {}
        tools = [read_file_tool(), edit_tool()] if task.file else [calculator, lookup]
        outcome = run_agent(
            task.text, tools=tools, progress=progress, memory=True, **where, **options
        )
        left = path.read_text()
    right = left == task.answer if "\n" in task.answer else re.search(task.answer, outcome.answer)
    return outcome, outcome.status == "completed" and bool(right)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("model")
    parser.add_argument("--base-url", required=True)
    parser.add_argument("--protocol", default="text", choices=("text", "native", "auto"))
    args = parser.parse_args()
    options: dict[str, Any] = {
        "model": f"openai:{args.model}",
        "base_url": args.base_url,
        "api_key": "local",
        "protocol": args.protocol,
        "limits": Limits(model_calls=CAP),
        "model_args": {"temperature": 0, "max_tokens": 160},
    }
    solved = caught = calls = saved = false_stops = 0
    for task in TASKS:
        started = time.monotonic()
        outcome, right = run(task, options, detector=True)
        seconds = time.monotonic() - started
        line = f"{outcome.status:14} {outcome.usage.model_calls:2} calls {seconds:5.0f} s"
        solved, calls = solved + right, calls + outcome.usage.model_calls
        if outcome.status == "no_progress":
            free, anyway = run(task, options, detector=False)
            caught, false_stops = caught + 1, false_stops + anyway
            saved += free.usage.model_calls - outcome.usage.model_calls
            line += f"; without the detector {free.status}, {free.usage.model_calls} calls"
        told = f"{task.text[:44]} -> {outcome.answer[:50]!r}"
        print(f"{'solved' if right else '-':7} {line}  {told}", flush=True)
    print(
        f"{args.model} {args.protocol}: solved {solved} of {len(TASKS)}, {calls} model calls, "
        f"loops caught {caught}, of which solved without the detector {false_stops}, "
        f"calls saved {saved}"
    )


if __name__ == "__main__":
    main()
