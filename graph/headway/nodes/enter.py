"""enter: once per run. A valid history, fresh or continued counters, the workspace as it is now."""

import time
import uuid
from collections.abc import Mapping, Sequence
from typing import Any, Final

from langchain_core.messages import AnyMessage, BaseMessage
from langgraph.config import get_config
from langgraph.runtime import Runtime

from headway.check import files_left
from headway.context import Context
from headway.history import closed, open_calls, place
from headway.notes import (
    CHANGED_FILES,
    OTHER_FILES,
    UNKNOWN_FILES,
    from_headway,
    is_human,
    is_own,
)
from headway.outside import gap, newest
from headway.parts import Parts, Update
from headway.schema import check_schema
from headway.state import MIN_REMAINING, SCHEMA_VERSION, Gap, Run, State
from headway_tools.env import ToolEnv
from headway_tools.errors import HeadwayError
from headway_tools.snapshots import without_indexes

MOST_NAMED: Final = 20
"""Paths that a note about the workspace names."""

DROPPED = "a new message came before anybody had decided about this reply's calls; none has run"


def enter(state: State, runtime: Runtime[Context], *, parts: Parts) -> Update:
    """Close calls that were left open, then start or continue the count of this run.

    Raises `HeadwayError` for wrong use, before any model call: no task, an outer recursion limit
    too small to end well, a thread written by a newer headway, a fork that would lose its edit.
    """
    messages = state.get("messages", [])
    _refuse_lost_edit(get_config()["configurable"])
    _refuse(state, messages)
    context = parts.context(runtime)
    parts.chat(context)
    parts.require_isolation()
    left_open = open_calls(messages)
    undecided = state.get("hw_run", {}).get("ask", []) if not state.get("hw_decisions") else []
    answers = [
        closed(call, "not_run", DROPPED) if undecided else closed(call, "interrupted")
        for call in left_open.calls
    ]
    update: Update = {
        "hw_schema": SCHEMA_VERSION,
        "hw_observations": [],
        "hw_decisions": {},
        "hw_verdict": {},
        "hw_progress": {},
        "outcome": {},
        "messages": place(messages, answers) if answers else [],
    }
    run = _run(state, messages)
    env = parts.environments.get(
        runtime.execution_info.thread_id if runtime.execution_info else None,
        state.get("hw_branch", ""),
        run["id"],
    )
    cut = bool(left_open.calls) and not undecided
    seen, note = _looked(state, run, env, parts, cut=cut)
    if note:
        update["messages"] = [*update["messages"], from_headway(note)]
    return {**update, "hw_run": run, **seen}


def _refuse(state: State, messages: Sequence[BaseMessage]) -> None:
    check_schema(state)
    if not any(is_human(message) for message in messages):
        raise HeadwayError("no task: the messages hold no human message")
    if state.get("hw_remaining", MIN_REMAINING) < MIN_ROUNDS:
        raise HeadwayError(
            "the outer recursion_limit leaves no room to end well; give it at least 4"
        )


def _refuse_lost_edit(given: Mapping[str, Any]) -> None:
    """A parent's fork runs its agents anew, in new namespaces. Where it was made at a step inside
    a finished one, LangGraph leaves that step, and an edit of it, behind without a word."""
    own = given.get("checkpoint_ns", "").split("|")[:-1]
    for namespace in given.get("checkpoint_map") or {}:
        other = namespace.split("|")
        above = own[: len(other)]
        if other != above and _names(other) == _names(above):
            raise HeadwayError(
                f"{'/'.join(_names(other))} has finished: a fork at one of its own steps would run "
                "it from its start and lose the edit; fork the parent at the step before it instead"
            )


def _names(namespace: Sequence[str]) -> list[str]:
    """Of the nodes, without the ids of their tasks."""
    return [part.partition(":")[0] for part in namespace]


MIN_ROUNDS = 3
"""`remaining_steps` that enter must see: agent and either verify or finish have to follow."""


def _run(state: State, messages: Sequence[AnyMessage]) -> Run:
    """The counters: continued where nothing new came from outside, else new ones."""
    known = state.get("hw_run")
    if known and is_own(messages[-1], messages[:-1]):
        kept = {key: value for key, value in known.items() if key not in ("stop", "closing")}
        fresh = {"rejections": {}, "reply": {}, "check": {**known.get("check", {}), "flat": 0}}
        return Run(**{**kept, **fresh})  # type: ignore[typeddict-item]
    task = next(message for message in reversed(messages) if is_human(message))
    return Run(
        id=uuid.uuid4().hex[:12],
        task=task.id or "",
        began=time.time(),
        rejections={},
        check={},
        warnings=[],
    )


def _looked(state: State, run: Run, env: ToolEnv, parts: Parts, *, cut: bool) -> tuple[Update, str]:
    """What a look at the workspace brings, and what the model must be told about it."""
    now, note = _files(state, env, ours=parts.settings.workspace_root is not None)
    if not now:
        return {}, note
    gaps = _gaps(state, env, now, cut=cut)
    if "files_at_start" not in run:
        gaps = newest(gaps)
    start: Run = {"files_at_start": now, "outside_at_start": len(gaps)}
    found: Update = {"hw_files": now, "hw_run": {**start, **run, "files_seen": now}}
    return {**found, "hw_outside": gaps} if gaps else found, note


def _files(state: State, env: ToolEnv, *, ours: bool) -> tuple[str, str]:
    """The workspace's snapshot now, and what the model must be told about its files; `ours` is a
    folder that headway made empty for this thread."""
    if env.snapshots is None or env.workspace is None:
        return "", ""
    now = env.snapshots.take(env.workspace.root)
    before = files_left(state)
    if not before:
        found = sorted(path.name for path in env.workspace.root.iterdir()) if ours else []
        return now, f"{UNKNOWN_FILES} {_named(found)}." if found else ""
    if not env.snapshots.holds(before):
        return now, OTHER_FILES
    paths = [change.path for change in without_indexes(env.changes(before, now))]
    if not paths:
        return now, ""
    return now, f"{CHANGED_FILES} {_named(paths)}. Read again what you rely on."


def _gaps(state: State, env: ToolEnv, now: str, *, cut: bool) -> list[Gap]:
    """With what others changed since the last run. After a call that was `cut` off that is the
    call's own, unless somebody else was at work here since."""
    own = cut and env.turns is not None and env.turns.look().undisturbed
    return [*state.get("hw_outside", []), *([] if own else gap(env, files_left(state), now))]


def _named(paths: list[str]) -> str:
    more = f" and {len(paths) - MOST_NAMED} more" if len(paths) > MOST_NAMED else ""
    return f"{', '.join(paths[:MOST_NAMED])}{more}"
