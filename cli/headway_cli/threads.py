"""Threads of the data folder as the commands need them: found by name, read, compared."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from langgraph.types import StateSnapshot

from headway.build import Agent, build_agent, make_parts
from headway.context import Context
from headway.environment import snapshots_of
from headway.limits import Limits
from headway.request import build as build_request
from headway.storage import sqlite_saver
from headway.threads import ThreadRecord, find_record
from headway_cli.options import the_home
from headway_debugger.heads import HeadFile
from headway_debugger.views import RequestBuilder
from headway_tools.snapshots import Snapshots


def the_thread(given: str | None) -> ThreadRecord:
    """The thread named on the command line; the newest of this folder without a name."""
    return find_record(the_home(), given, Path.cwd())


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


def pending_actions(thread: str) -> list[dict[str, Any]]:
    """The actions that wait for a person, empty where none does."""
    waiting = snapshot_of(thread).interrupts
    return list(waiting[0].value.get("action_requests", ())) if waiting else []


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
        state: Any = values
        sent = build_request(state, parts=parts, context=Context())
        return {"messages": sent.messages, "tools": [tool.name for tool in sent.tools]}

    return build


def heads_of(thread: str) -> HeadFile:
    """Where the names of a thread's branches are kept."""
    return HeadFile(the_home().thread(thread).path / "heads.json")


def split_step(given: str | None) -> tuple[str | None, str]:
    """`THREAD@STEP` in two; the step is empty where none is named."""
    name, _, step = (given or "").partition("@")
    return name or None, step


def diff_of_run(outcome: Mapping[str, Any]) -> str:
    """The unified diff from the start of an outcome's run to its end, empty without changes."""
    if not outcome["files"]:
        return ""
    values = snapshot_of(outcome["thread"], outcome["checkpoint"]).values
    before, after = values["hw_run"]["files_at_start"], values["hw_files"]
    with snapshots_in(outcome["thread"], Path(outcome["workspace"])) as snapshots:
        return snapshots.patch(before, after)


def patch_between(record: ThreadRecord, before: str, after: str) -> str:
    """The unified diff between two snapshots of a thread's workspace."""
    with snapshots_in(record.thread, Path(record.workspace or "")) as snapshots:
        return snapshots.patch(before, after)


@contextmanager
def snapshots_in(thread: str, workspace: Path) -> Iterator[Snapshots]:
    """The thread's snapshots of `workspace`, closed at the end."""
    snapshots = snapshots_of(the_home().thread(thread), workspace)
    try:
        yield snapshots
    finally:
        snapshots.close()
