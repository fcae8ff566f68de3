"""A thread's tree and one step's messages as text. Pure functions."""

import json
from collections.abc import Mapping, Sequence
from typing import Any, Final

from langchain_core.messages import AIMessage, BaseMessage, ToolMessage

from headway_cli.events import gist_of_call, gist_of_observation
from headway_cli.terminal import Terminal, one_line, paint, row, visible
from headway_debugger.results import CallResult
from headway_debugger.steps import Step
from headway_debugger.tree import Branch

MOST_ROW: Final = 160
"""Columns of a step's line, in a pipe as well: it says what the step is about."""


def branch_table(
    branch: Branch, steps: Sequence[Step], terminal: Terminal, *, mark: str = "", stands: str = ""
) -> str:
    """The branch's name with a `mark` and one line a step; says how many older steps are left out.
    `stands` is the word for a thread that can go on there."""
    origin = f" (from {branch.forked_from.name})" if branch.forked_from else ""
    lines = [paint(f"{branch.name}{origin}{mark}", "bold", terminal)]
    hidden = len(branch.nodes) - len(steps)
    if hidden:
        lines.append(f"  … {hidden} older steps; --all shows them")
    copy = branch.start if branch.forked_from else None
    for step in steps:
        spent = f"{step.seconds:.1f} s" if step.seconds is not None else ""
        spent = "copied" if step.node is copy and not spent else spent
        lines.append(_step_line(step, spent, stands or "unfinished", terminal))
    return "\n".join(lines)


def _step_line(step: Step, spent: str, stands: str, terminal: Terminal) -> str:
    made_by = ",".join(step.node.writers) or step.node.source
    status = {"done": "", "unfinished": stands}.get(step.status, step.status)
    tokens = step.tokens.input + step.tokens.output
    facts = [
        f"{step.node.name:>6}  {made_by:<10}",
        f"{spent:>8}",
        f"{tokens:,} tokens" if tokens else "",
        status,
        _gist(step.messages) or " ".join(step.tools),
    ]
    return row("  ".join(fact for fact in facts if fact).rstrip(), min(terminal.width, MOST_ROW))


def step_facts(step: Step) -> dict[str, Any]:
    """A step as plain data."""
    return {
        "step": step.node.name,
        "checkpoint": step.node.id,
        "written_by": list(step.node.writers) or [step.node.source],
        "status": step.status,
        "tokens": {"input": step.tokens.input, "output": step.tokens.output},
        "seconds": step.seconds,
        "tools": list(step.tools),
    }


def _gist(messages: Sequence[BaseMessage]) -> str:
    """What the step's messages are about."""
    parts: list[str] = []
    for message in messages:
        if isinstance(message, AIMessage) and message.tool_calls:
            parts += [f"{c['name']} {gist_of_call(c['args'])}" for c in message.tool_calls]
        elif isinstance(message, ToolMessage):
            parts.append(
                f"{message.name}: {gist_of_observation(str(message.text), message.status)[0]}"
            )
        else:
            parts.append(str(message.text)[:MOST_ROW])
    return one_line("; ".join(parts))


def messages_text(messages: Sequence[BaseMessage], terminal: Terminal) -> str:
    """Each message whole: who wrote it, its text, its calls."""
    return "\n\n".join(_message(message, terminal) for message in messages)


def _message(message: BaseMessage, terminal: Terminal) -> str:
    name = f" {one_line(message.name)}" if message.name else ""
    lines = [paint(f"{message.type}{name}", "bold", terminal)]
    if str(message.text).strip():
        lines.append(visible(str(message.text)).rstrip())
    for call in getattr(message, "tool_calls", ()):
        lines.append(f"{one_line(call['name'])} {pretty(call['args'])}")
    return "\n".join(lines)


def results_text(results: Sequence[CallResult], terminal: Terminal) -> str:
    """Each call of a tools step, whole, with what came back."""
    parts = []
    for result in results:
        head = f"{one_line(result.call['name'])} {pretty(result.call['args'])}"
        status = "" if result.status == "success" else f"{result.status}\n"
        parts.append(f"{paint(head, 'bold', terminal)}\n{status}{visible(result.text).rstrip()}")
    return "\n\n".join(parts)


def pretty(value: Mapping[str, Any] | Sequence[Any]) -> str:
    """JSON for reading; messages in it as their dict form."""
    return visible(json.dumps(value, indent=2, ensure_ascii=False, default=plain))


def plain(value: object) -> object:
    """What JSON has no form for: a message as a dict, everything else as text."""
    if isinstance(value, BaseMessage):
        return {"type": value.type, **value.model_dump(exclude_defaults=True)}
    return str(value)
