"""`headway show THREAD[@STEP]`: the tree of a thread, or what one step saw, wrote and changed."""

import argparse
import sys
from typing import Any, Final

from headway_cli.output import SCHEMA_VERSION, dumps
from headway_cli.steps import branch_table, messages_text, pretty, step_facts
from headway_cli.terminal import one_line, terminal_of, visible
from headway_cli.threads import Opened, opened, request_builder, split_step
from headway_debugger.steps import steps
from headway_debugger.tree import TreeNode
from headway_debugger.views import request

PAGE: Final = 50
"""Newest steps of each branch that are shown without --all."""


def run(args: argparse.Namespace) -> int:
    """Print the thread, or what was asked for of a step."""
    name, step = split_step(args.thread)
    with opened(name) as thread:
        print(_chosen(args, thread, step))
    return 0


def _chosen(args: argparse.Namespace, thread: Opened, step: str) -> str:
    if args.graph:
        return thread.graph.get_graph().draw_mermaid().rstrip()
    if args.state:
        return pretty(thread.state(thread.node(step)))
    if args.request:
        node = thread.node(step) if step else _newest_reply(thread)
        return pretty(request(thread.backend, thread.tree, node, request_builder(thread.record)))
    if args.files:
        return _files(thread, thread.node(step))
    if args.json:
        return _json(thread)
    return _step(thread, thread.node(step)) if step else _thread(thread, every=args.all)


def _newest_reply(thread: Opened) -> TreeNode:
    line = thread.tree.lineage(thread.node(""))
    return next((node for node in reversed(line) if "agent" in node.writers), line[-1])


def _thread(thread: Opened, *, every: bool) -> str:
    terminal, record = terminal_of(sys.stdout), thread.record
    head = {
        "thread": record.thread,
        "task": record.task,
        "model": record.model,
        "workspace": record.workspace,
        "status": record.status or "unfinished",
    }
    lines = [f"{name:<11}{one_line(str(value))}" for name, value in head.items() if value]
    tables = [
        branch_table(branch, steps(thread.backend, thread.tree, nodes), terminal)
        for branch in thread.tree.branches.values()
        for nodes in [branch.nodes if every else branch.nodes[-PAGE:]]
    ]
    return "\n\n".join(["\n".join(lines), *tables])


def _step(thread: Opened, node: TreeNode) -> str:
    [step] = steps(thread.backend, thread.tree, [node])
    body = messages_text(step.messages, terminal_of(sys.stdout)) or "(it wrote no message)"
    return f"{thread.record.thread}@{node.name}\n\n{body}"


def _files(thread: Opened, node: TreeNode) -> str:
    """The diff between the files of the step before and this step's."""
    after = thread.state(node).get("hw_files", "")
    parent = thread.tree.nodes.get(node.parent or "")
    before = thread.state(parent).get("hw_files", "") if parent else ""
    if not before or before == after:
        return f"step {node.name} changed no file"
    with thread.snapshots() as snapshots:
        return visible(snapshots.patch(before, after)).rstrip()


def _json(thread: Opened) -> str:
    branches: dict[str, Any] = {
        name: {
            "forked_from": branch.forked_from.name if branch.forked_from else None,
            "steps": [step_facts(s) for s in steps(thread.backend, thread.tree, branch.nodes)],
        }
        for name, branch in thread.tree.branches.items()
    }
    record = thread.record.model_dump(exclude={"options", "version"})
    return dumps({"schema_version": SCHEMA_VERSION, **record, "branches": branches})
