"""`headway diff A B`: two steps side by side, of one thread or two."""

import argparse
import sys
from contextlib import ExitStack

from headway_cli.report import coloured_diff
from headway_cli.steps import messages_text, pretty
from headway_cli.streams import put
from headway_cli.terminal import Terminal, terminal_of
from headway_cli.threads import opened, split_step
from headway_debugger.compare import Difference, Side, diff


def run(args: argparse.Namespace) -> int:
    """Print what differs; exit 0 either way."""
    a_name, a_step = split_step(args.a)
    b_name, b_step = split_step(args.b)
    with ExitStack() as stack:
        one = stack.enter_context(opened(a_name))
        two = stack.enter_context(opened(b_name)) if b_name else one
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
    """The difference for people, one block for each kind that differs."""
    if found.same:
        return "no difference"
    first = found.first or (None, None)
    names = [node.name if node else "(ended before)" for node in first]
    facts = [
        ("first differing step", f"{names[0]} | {names[1]}"),
        ("same messages", str(found.same_messages)),
        ("status", " | ".join(found.status)),
        ("tokens", " | ".join(f"{side.input + side.output:,}" for side in found.tokens)),
    ]
    parts = ["\n".join(f"{label:<22}{text}" for label, text in facts)]
    for title, messages in zip("AB", found.messages, strict=True):
        if messages:
            parts.append(f"only in {title}:\n\n{messages_text(messages, terminal)}")
    if found.state and state:
        parts.append("state (A, B):\n" + pretty({k: list(v) for k, v in found.state.items()}))
    elif found.state:
        parts.append(f"state differs in {', '.join(found.state)}; --state shows it")
    if found.patch:
        parts.append(coloured_diff(str(found.patch), terminal))
    return "\n\n".join(parts)
