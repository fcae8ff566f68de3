"""The end of a run that `run_agent` drove: its outcome, from the thread and the journal."""

from collections.abc import Mapping
from typing import Any, Final, cast

from langchain_core.messages import ToolMessage
from langgraph.types import StateSnapshot

from headway.events import Event
from headway.history import closed, open_calls
from headway.job import Job
from headway.observe import answers
from headway.outcome import Outcome
from headway.report import INTERRUPTED, outcome
from headway.state import Observation
from headway.status import Status
from headway.steps import trace
from headway.threads import update_record
from headway_tools.env import ToolEnv

CHANGING: Final = frozenset({"tools", "verify"})
"""Nodes that may change files."""


def end(job: Job, snapshot: StateSnapshot, *, cancelled: bool) -> Event:
    """The last event; writes the status into the record."""
    left = _files_left(job, snapshot) if cancelled else ""
    messages = [*snapshot.values.get("messages", []), *_unwritten(job, snapshot)]
    values: Any = {**snapshot.values, "messages": messages} | ({"hw_files": left} if left else {})
    result = _outcome(job, snapshot, values, cancelled)
    done = result.model_copy(
        update={
            "thread": job.thread,
            "checkpoint": snapshot.config["configurable"].get("checkpoint_id"),
            "steps": trace(messages),
        }
    )
    if job.home:
        update_record(job.home, job.thread, status=done.status, left=left)
    return {"type": "end", "outcome": done.model_dump(mode="json")}


def _files_left(job: Job, snapshot: StateSnapshot) -> str:
    """The files of a run that was stopped in a step that may have changed some, unrecorded; empty
    where somebody else may have since."""
    values = snapshot.values
    if not values.get("hw_files") or CHANGING.isdisjoint(task.name for task in snapshot.tasks):
        return ""
    env = _env(job, values)
    return env.files_now() if env.turns is None or env.turns.look().undisturbed else ""


def _outcome(
    job: Job, snapshot: StateSnapshot, values: Mapping[str, Any], cancelled: bool
) -> Outcome:
    if values.get("outcome") and not snapshot.next:
        return Outcome.model_validate(values["outcome"])
    state: Any = values
    env = _env(job, values)
    status: Status = "needs_approval" if snapshot.interrupts and not cancelled else "cancelled"
    pending = [{"id": i.id, **_as_dict(i.value)} for i in snapshot.interrupts]
    made = outcome(state, status=status, env=env, limits=job.parts.settings.limits)
    return made.model_copy(update={"pending": pending})


def _unwritten(job: Job, snapshot: StateSnapshot) -> list[ToolMessage]:
    """Answers that history does not hold yet: results that were recorded when the run was stopped
    before truncate, and that a call was stopped in the middle."""
    env, values = _env(job, snapshot.values), snapshot.values
    recorded: list[Observation] = list(values.get("hw_observations", []))
    cut: list[ToolMessage] = []
    for task in snapshot.tasks:
        calls = open_calls(values.get("messages", [])).calls if task.name == "tools" else []
        for call in calls:
            entry = env.journal.lookup(f"{task.id}/{call['id']}")
            if entry is not None and entry.ref is not None:
                recorded.append(cast(Observation, entry.ref))
            elif entry is not None:
                cut.append(closed(call, INTERRUPTED))
    return [*answers(recorded, env, job.parts), *cut]


def _env(job: Job, values: Mapping[str, Any]) -> ToolEnv:
    run_id = values.get("hw_run", {}).get("id", "")
    return job.parts.environments.get(job.thread, values.get("hw_branch", ""), run_id)


def _as_dict(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {"value": value}
