"""`headway diff A B`: two steps side by side, of one thread or two."""

import argparse
import sys
from contextlib import ExitStack

from langchain_core.messages import BaseMessage, HumanMessage, ToolMessage

from headway.notes import is_human
from headway_cli.events import gist_of_call, gist_of_observation
from headway_cli.report import coloured_diff
from headway_cli.steps import pretty
from headway_cli.streams import put
from headway_cli.terminal import Terminal, clip, one_line, paint, terminal_of
from headway_cli.threads import opened, split_step
from headway_debugger.compare import Difference, Side, diff


def run(args: argparse.Namespace) -> int:
    """Print what differs; exit 0 either way."""
    a_name, a_step = split_step(args.a)
    b_name, b_step = split_step(args.b)
    with ExitStack() as stack:
        one = stack.enter_context(opened(a_name, args.workspace))
        two = stack.enter_context(opened(b_name, args.workspace)) if b_name else one
        snapshots = stack.enter_context(one.snapshots())
        same_thread = one.id == two.id
        found = diff(
            one.backend,
            Side(one.tree, one.node(a_step)),
            Side(two.tree, two.node(b_step)),
            other=None if same_thread else two.backend,
            files=snapshots if same_thread and one.record.workspace else None,
        )
        put(as_text(found, terminal_of(sys.stdout), state=args.state))
    return 0


def as_text(found: Difference, terminal: Terminal, *, state: bool = False) -> str:
    """The difference for people: the facts, the messages, the state, the files."""
    if found.same:
        return "no difference"
    parts = ["\n".join(f"{label:<22}{text}" for label, text in _facts(found))]
    for title, messages in zip("AB", found.messages, strict=True):
        if messages:
            lines = "\n".join(line for message in messages for line in _lines(message, terminal))
            parts.append(paint(f"only in {title}", "bold", terminal) + f"\n{lines}")
    if found.state and state:
        parts.append("state (A, B):\n" + pretty({k: list(v) for k, v in found.state.items()}))
    elif found.state:
        parts.append(f"state differs in {', '.join(found.state)}; --state shows it")
    if found.patch:
        parts.append(coloured_diff(str(found.patch), terminal))
    return "\n\n".join(parts)


def _facts(found: Difference) -> list[tuple[str, str]]:
    """Side by side, A | B; tokens only where a server reported some."""
    names = [node.name if node else "(ended before)" for node in found.first or ()]
    tokens = [side.input + side.output for side in found.tokens]
    facts = [
        ("first differing step", " | ".join(names) or "none"),
        (
            "messages",
            f"{found.same_messages} the same, then "
            + " | ".join(str(len(side)) for side in found.messages),
        ),
        ("status", " | ".join(found.status)),
    ]
    return [*facts, ("tokens", " | ".join(f"{n:,}" for n in tokens))] if any(tokens) else facts


def _lines(message: BaseMessage, terminal: Terminal) -> list[str]:
    """A message in short: its text, a line for each call, the gist of a result."""
    if isinstance(message, ToolMessage):
        gist, colour = gist_of_observation(str(message.text), message.status)
        return [paint(clip(f"      {gist}", terminal.width), colour, terminal)]
    who = "you" if isinstance(message, HumanMessage) and is_human(message) else message.type
    text = one_line(str(message.text))
    lines = [f"  {who}: {text}"] if text else []
    for call in getattr(message, "tool_calls", ()):
        lines.append(f"    {one_line(call['name'])} {gist_of_call(call['args'])}")
    return [clip(line, terminal.width) for line in lines]
