"""`headway show THREAD[@STEP]`: the tree of a thread, or what one step saw, wrote and changed."""

import argparse
import sys
from dataclasses import dataclass
from typing import Any, Final

from headway.build import Agent
from headway.threads import ThreadRecord
from headway_cli.output import SCHEMA_VERSION, dumps
from headway_cli.steps import branch_table, messages_text, pretty, step_facts
from headway_cli.terminal import one_line, terminal_of, visible
from headway_cli.threads import (
    heads_of,
    patch_between,
    reading_graph,
    request_builder,
    split_step,
    the_thread,
)
from headway_debugger.backend import Backend
from headway_debugger.steps import steps
from headway_debugger.tree import ThreadTree, TreeNode, resolve
from headway_debugger.views import request, state, tree
from headway_tools.errors import HeadwayError

PAGE: Final = 50
"""Newest steps of each branch that are shown without --all."""


@dataclass(frozen=True)
class View:
    """A thread opened for reading."""

    record: ThreadRecord
    graph: Agent
    backend: Backend
    tree: ThreadTree

    def node(self, step: str) -> TreeNode:
        """The step named, the newest of the branch that resume goes on with without a name."""
        return resolve(self.tree, step or self.record.branch or "main")


def run(args: argparse.Namespace) -> int:
    """Print the thread, or what was asked for of a step."""
    name, step = split_step(args.thread)
    record = the_thread(name)
    with reading_graph() as graph:
        backend = Backend(graph)
        view = View(record, graph, backend, tree(backend, record.thread, heads_of(record.thread)))
        print(_chosen(args, view, step))
    return 0


def _chosen(args: argparse.Namespace, view: View, step: str) -> str:
    if args.graph:
        return view.graph.get_graph().draw_mermaid().rstrip()
    if args.state:
        return pretty(state(view.backend, view.tree, view.node(step)))
    if args.request:
        node = view.node(step) if step else _newest_reply(view)
        return pretty(request(view.backend, view.tree, node, request_builder(view.record)))
    if args.files:
        return _files(view, view.node(step))
    if args.json:
        return _json(view)
    return _step(view, view.node(step)) if step else _thread(view, every=args.all)


def _newest_reply(view: View) -> TreeNode:
    line = view.tree.lineage(view.node(""))
    return next((node for node in reversed(line) if "agent" in node.writers), line[-1])


def _thread(view: View, *, every: bool) -> str:
    terminal, record = terminal_of(sys.stdout), view.record
    head = {
        "thread": record.thread,
        "task": record.task,
        "model": record.model,
        "workspace": record.workspace,
        "status": record.status or "unfinished",
    }
    lines = [f"{name:<11}{one_line(str(value))}" for name, value in head.items() if value]
    tables = [
        branch_table(branch, steps(view.backend, view.tree, nodes), terminal)
        for branch in view.tree.branches.values()
        for nodes in [branch.nodes if every else branch.nodes[-PAGE:]]
    ]
    return "\n\n".join(["\n".join(lines), *tables])


def _step(view: View, node: TreeNode) -> str:
    [step] = steps(view.backend, view.tree, [node])
    body = messages_text(step.messages, terminal_of(sys.stdout)) or "(it wrote no message)"
    return f"{view.record.thread}@{node.name}\n\n{body}"


def _files(view: View, node: TreeNode) -> str:
    """The diff between the files of the step before and this step's."""
    if not view.record.workspace:
        raise HeadwayError(f"thread {view.record.thread} has no workspace")
    after = state(view.backend, view.tree, node).get("hw_files", "")
    parent = view.tree.nodes.get(node.parent or "")
    before = state(view.backend, view.tree, parent).get("hw_files", "") if parent else ""
    if not before or before == after:
        return f"step {node.name} changed no file"
    return visible(patch_between(view.record, before, after)).rstrip()


def _json(view: View) -> str:
    branches: dict[str, Any] = {
        name: {
            "forked_from": branch.forked_from.name if branch.forked_from else None,
            "steps": [step_facts(s) for s in steps(view.backend, view.tree, branch.nodes)],
        }
        for name, branch in view.tree.branches.items()
    }
    record = view.record.model_dump(exclude={"options", "version"})
    return dumps({"schema_version": SCHEMA_VERSION, **record, "branches": branches})
