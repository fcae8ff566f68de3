"""Threads of the data folder as the commands need them: found by name, opened for reading."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from langgraph.types import StateSnapshot

from headway.build import Agent, build_agent, make_parts
from headway.context import Context
from headway.environment import snapshots_of
from headway.heads import MAIN, HeadFile
from headway.limits import Limits
from headway.request import build as build_request
from headway.storage import sqlite_saver
from headway.threads import ThreadRecord, find_record, load_record
from headway_cli.options import the_home
from headway_debugger.backend import Backend
from headway_debugger.tree import ThreadTree, TreeNode, resolve
from headway_debugger.views import RequestBuilder, state, tree
from headway_tools.errors import HeadwayError
from headway_tools.home import ThreadFolder
from headway_tools.snapshots import Snapshots


@dataclass(frozen=True)
class Opened:
    """A thread, its graph (without model and tools) and its tree."""

    record: ThreadRecord
    graph: Agent
    backend: Backend
    tree: ThreadTree
    heads: HeadFile
    folder: ThreadFolder

    def node(self, step: str) -> TreeNode:
        """The step named, without a name the newest of the branch that resume goes on with."""
        return resolve(self.tree, step or self.heads.load().current)

    def state(self, node: TreeNode) -> dict[str, Any]:
        """The values of the state at `node`."""
        return state(self.backend, self.tree, node)

    @property
    def root(self) -> Path:
        """The real folder of the thread's workspace; `HeadwayError` without one."""
        if not self.record.workspace:
            raise HeadwayError(f"thread {self.record.thread} has no workspace")
        return Path(self.record.root or self.record.workspace)

    def root_of(self, values: Mapping[str, Any]) -> Path:
        """The real folder of a state's files: a branch has its own."""
        branch = values.get("hw_branch")
        return self.folder.branch(branch) if branch else self.root

    @contextmanager
    def snapshots(self) -> Iterator[Snapshots]:
        """The states of the workspace, closed at the end."""
        with snapshots_in(self.record.thread, self.record.workspace) as snapshots:
            yield snapshots


def the_thread(given: str | None) -> ThreadRecord:
    """The thread named on the command line; the newest of this folder without a name."""
    return find_record(the_home(), given, Path.cwd())


def split_step(given: str | None) -> tuple[str | None, str]:
    """`THREAD@STEP` in two; the step is empty where none is named."""
    name, _, step = (given or "").partition("@")
    return name or None, step


@contextmanager
def opened(name: str | None) -> Iterator[Opened]:
    """The thread named on the command line."""
    record = the_thread(name)
    folder = the_home().thread(record.thread)
    heads = HeadFile(folder.heads)
    with reading_graph() as graph:
        backend = Backend(graph)
        found = tree(backend, record.thread, heads)
        yield Opened(record, graph, backend, found, heads, folder)


@contextmanager
def reading_graph() -> Iterator[Agent]:
    """The graph over the data folder's checkpoints, for reading: it holds no model and no tool."""
    with sqlite_saver(the_home()) as saver:
        yield build_agent(checkpointer=saver)


def snapshot_of(thread: str, checkpoint: str | None = None) -> StateSnapshot:
    """The graph's state at a checkpoint, the newest without one."""
    address: dict[str, Any] = {"thread_id": thread}
    if checkpoint:
        address["checkpoint_id"] = checkpoint
    with reading_graph() as graph:
        return graph.get_state({"configurable": address})


def go_to(name: str | None, branch: str) -> None:
    """Make `branch` the one that resume goes on with; `HeadwayError`: there is none."""
    with opened(name) as thread:
        if branch not in thread.tree.branches:
            known = ", ".join(thread.tree.branches)
            raise HeadwayError(f"{thread.record.thread} has no branch {branch!r}; it has {known}")
        thread.heads.save(thread.heads.load().keeping(thread.tree.starts).on(branch))


def pending_actions(name: str | None) -> list[dict[str, Any]]:
    """The actions that wait for a person on the current branch, empty where none does."""
    with opened(name) as thread:
        tip = thread.backend.snapshot(thread.record.thread, thread.node("").id)
    return list(tip.interrupts[0].value.get("action_requests", ())) if tip.interrupts else []


def stored_options(record: ThreadRecord) -> dict[str, Any]:
    """The options that a thread was started with, as `headway.build.Options` wants them."""
    kept = dict(record.options)
    kept["limits"] = Limits(**(kept.get("limits") or {}))
    kept["read_only"] = [Path(path) for path in kept.get("read_only") or ()]
    kept["workspace"] = record.workspace
    kept["root"] = Path(record.root) if record.root else None
    return kept


def request_builder(record: ThreadRecord) -> RequestBuilder:
    """Rebuilds the requests of a thread with the options it was started with."""
    options: Any = stored_options(record)
    parts = make_parts(record.model, tools=None, name="headway", options=options)

    def build(values: Mapping[str, Any]) -> dict[str, Any]:
        known: Any = values
        sent = build_request(known, parts=parts, context=Context())
        return {"messages": sent.messages, "tools": [tool.name for tool in sent.tools]}

    return build


def diff_of_run(outcome: Mapping[str, Any]) -> str:
    """The unified diff from the start of an outcome's run to its end, empty without changes."""
    if not outcome["files"]:
        return ""
    values = snapshot_of(outcome["thread"], outcome["checkpoint"]).values
    before, after = values["hw_run"]["files_at_start"], values["hw_files"]
    with snapshots_in(outcome["thread"], outcome["workspace"]) as snapshots:
        return snapshots.patch(before, after)


def bring_of_run(outcome: Mapping[str, Any]) -> str:
    """The command that brings a run's files into the workspace, empty where it worked there."""
    record = load_record(the_home(), outcome["thread"])
    if not outcome["files"]:
        return ""
    branch = HeadFile(the_home().thread(record.thread).heads).load().current
    if branch != MAIN:
        return f"headway restore {record.thread}@{branch}"
    return f"headway apply {record.thread}" if record.root else ""


@contextmanager
def snapshots_in(thread: str, workspace: str | None) -> Iterator[Snapshots]:
    """The thread's snapshots of `workspace`, closed at the end."""
    snapshots = snapshots_of(the_home().thread(thread), Path(workspace or ""))
    try:
        yield snapshots
    finally:
        snapshots.close()
