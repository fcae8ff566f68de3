"""`headway show THREAD[@STEP]`: the tree of a thread, or what one step saw, wrote and changed."""

import argparse
import sys
from dataclasses import asdict
from typing import Any, Final

from headway.threads import word_for
from headway_cli.output import SCHEMA_VERSION, dumps
from headway_cli.steps import branch_table, messages_text, plain, pretty, results_text, step_facts
from headway_cli.streams import put
from headway_cli.terminal import one_line, terminal_of, visible
from headway_cli.threads import opened, split_step
from headway_debugger.outside import patch_of_crash
from headway_debugger.requests import SentRequest, request_at
from headway_debugger.results import results_of
from headway_debugger.threads import Thread
from headway_debugger.tree import TreeNode

PAGE: Final = 50
"""Newest steps of each branch that are shown without --all."""


def run(args: argparse.Namespace) -> int:
    """Print the thread, or what was asked for of a step."""
    name, step = split_step(args.thread)
    with opened(name, args.workspace) as thread:
        node = thread.node(step)
        if args.request and not step:
            node = _newest_reply(thread, node)
        if args.json:
            facts = _facts(args, thread, node if step or _of_a_step(args) else None)
            put(dumps({"schema_version": SCHEMA_VERSION, "thread": thread.id, **facts}, plain))
        else:
            put(_text(args, thread, node, step))
    return 0


def _of_a_step(args: argparse.Namespace) -> bool:
    """These views are of the newest step where none is named."""
    return bool(args.state or args.request or args.files)


def _text(args: argparse.Namespace, thread: Thread, node: TreeNode, step: str) -> str:
    if args.graph:
        return thread.drawing()
    if args.state:
        return pretty(thread.state(node))
    if args.request:
        return pretty(_request(thread, node))
    if args.files:
        return _files(thread, node)
    return _step(thread, node) if step else _thread(thread, every=args.all)


def _facts(args: argparse.Namespace, thread: Thread, node: TreeNode | None) -> dict[str, Any]:
    """The same as data."""
    if args.graph:
        return {"graph": thread.drawing()}
    if node is None:
        return _thread_facts(thread)
    head = {"step": node.name, "checkpoint": node.id}
    if args.state:
        return {**head, "state": thread.state(node)}
    if args.request:
        return {**head, "request": _request(thread, node)}
    if args.files:
        left = patch_of_crash(thread, node)
        return {**head, "patch": thread.patch(node), "left_by_crash": left}
    return _step_facts(thread, node)


def _request(thread: Thread, node: TreeNode) -> dict[str, Any]:
    """As it was sent; where the reply keeps other digests, with what was otherwise."""
    sent = request_at(thread, node)
    facts = {"model": sent.model, "protocol": sent.protocol, "as_sent": _as_sent(sent)}
    return {**facts, "messages": sent.messages, "tools": sent.tools}


def _as_sent(sent: SentRequest) -> bool | str:
    if sent.differs is None:
        return "unknown: no reply tells"
    return f"no: otherwise then: {', '.join(sent.differs)}" if sent.differs else True


def _newest_reply(thread: Thread, tip: TreeNode) -> TreeNode:
    line = thread.tree.lineage(tip)
    return next((node for node in reversed(line) if "agent" in node.writers), line[-1])


def _thread(thread: Thread, *, every: bool) -> str:
    terminal, record = terminal_of(sys.stdout), thread.record
    current, word = thread.branch(""), word_for(thread.home, record)
    mark = ", the current branch" if len(thread.tree.branches) > 1 else ""
    head = {
        "thread": record.thread,
        "task": record.task,
        "model": record.model,
        "workspace": record.workspace,
        "status": word,
    }
    lines = [f"{name:<11}{one_line(str(value))}" for name, value in head.items() if value]
    tables = []
    for name, branch in thread.tree.branches.items():
        page = thread.page(name, None if every else PAGE)
        here = {"mark": mark, "stands": word} if name == current else {}
        tables.append(branch_table(branch, page, terminal, **here))
    return "\n\n".join(["\n".join(lines), *tables])


def _step(thread: Thread, node: TreeNode) -> str:
    terminal = terminal_of(sys.stdout)
    results = results_of(thread, node) if "tools" in node.writers else []
    changed = "\n".join(f"{c.kind:<8} {one_line(c.path)}" for c in thread.changes(node))
    parts = [
        messages_text(thread.step(node).messages, terminal),
        results_text(results, terminal),
        f"files (--files shows the diff)\n{changed}" if changed else "",
    ]
    body = "\n\n".join(filter(None, parts)) or "(it wrote no message)"
    return f"{thread.id}@{node.name}  {', '.join(node.writers) or node.source}\n\n{body}"


def _files(thread: Thread, node: TreeNode) -> str:
    """The diff between the files of the step before and this step's; after a kill also what the
    call left that was under way."""
    patch, crash = thread.patch(node), patch_of_crash(thread, node)
    parts = [visible(patch).rstrip() if patch else f"step {node.name} changed no file"]
    if crash:
        parts.append(f"since the call began that headway was killed in:\n{visible(crash).rstrip()}")
    return "\n\n".join(parts)


def _step_facts(thread: Thread, node: TreeNode) -> dict[str, Any]:
    step = thread.step(node)
    results = results_of(thread, node) if "tools" in node.writers else []
    return {
        **step_facts(step),
        "messages": list(step.messages),
        "results": [asdict(result) for result in results],
        "files": [{"path": c.path, "kind": c.kind} for c in thread.changes(node)],
    }


def _thread_facts(thread: Thread) -> dict[str, Any]:
    branches = {
        name: {
            "forked_from": branch.forked_from.name if branch.forked_from else None,
            "steps": [step_facts(step) for step in thread.page(name, None)],
        }
        for name, branch in thread.tree.branches.items()
    }
    record = thread.record.model_dump(exclude={"options", "version"})
    return {**record, "current": thread.branch(""), "branches": branches}
