"""Threads of the data folder as the commands name them."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from headway.heads import HeadFile
from headway.threads import ThreadRecord, find_record
from headway_cli.options import the_home, workspace_of
from headway_cli.report import inside_git
from headway_debugger.branching import keep_names
from headway_debugger.files import BRANCH, FILES
from headway_debugger.threads import Thread, open_thread


def the_thread(given: str | None, folder: str) -> ThreadRecord:
    """The thread named on the command line; the newest of `folder` without a name."""
    return find_record(the_home(), given, workspace_of(folder))


def split_step(given: str | None) -> tuple[str | None, str]:
    """`THREAD@STEP` in two; the step is empty where none is named, the name None in `@STEP`."""
    name, at, step = (given or "").partition("@")
    return (None if given is None or (at and not name) else name), step


@contextmanager
def opened(name: str | None, folder: str = ".") -> Iterator[Thread]:
    """The thread named on the command line; the newest of `folder` without a name."""
    with open_thread(the_home(), name, workspace_of(folder)) as thread:
        yield thread


def named_branch(name: str | None, branch: str) -> str:
    """The branch of that name, which no later one can take from it."""
    with opened(name) as thread:
        found = thread.branch(branch)
        with thread.writing() as now:
            keep_names(now)
    return found


def current_branch(record: ThreadRecord) -> str:
    """The branch that a thread goes on with."""
    return HeadFile(the_home().thread(record.thread).heads).load().current


def pending_actions(name: str | None, branch: str) -> list[dict[str, Any]]:
    """The actions that wait for a person on a branch, empty where none does."""
    with opened(name) as thread:
        tip = thread.backend.snapshot(thread.id, thread.node(branch).id)
    return list(tip.interrupts[0].value.get("action_requests", ())) if tip.interrupts else []


def diff_of_run(outcome: Mapping[str, Any]) -> str:
    """The unified diff from the start of an outcome's run to its end, empty without changes; of
    git's own files only those that tools run by themselves."""
    if not outcome["files"]:
        return ""
    shown = {change["path"] for change in outcome["files"] if not inside_git(change)}
    with opened(outcome["thread"]) as thread, thread.snapshots() as snapshots:
        values = thread.state(thread.tree.nodes[outcome["checkpoint"]])
        start = values["hw_run"]["files_at_start"]
        return snapshots.patch(start, thread.record.left or values[FILES], only=shown.__contains__)


def bring_of_run(outcome: Mapping[str, Any]) -> str:
    """The command that brings a run's files into the workspace, empty where it worked there."""
    if not outcome["files"]:
        return ""
    with opened(outcome["thread"]) as thread:
        node = thread.tree.nodes[outcome["checkpoint"]]
        if thread.state(node).get(BRANCH):
            return f"headway restore {thread.id}@{node.branch}"
        return f"headway apply {thread.id}" if thread.record.root else ""
