"""One run, decided: its parts, its thread and branch, what goes in, and what came of it."""

import time
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Any, Final

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import HumanMessage
from langchain_core.runnables import RunnableConfig
from langchain_core.tools import BaseTool
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.types import Command, StateSnapshot
from typing_extensions import Unpack

from headway.branches import BranchView
from headway.build import Agent, compile_agent, make_parts
from headway.check_command import Command as Check
from headway.check_command import missing_program
from headway.context import CHECK_TIMEOUT, Context
from headway.events import Event
from headway.heads import MAIN, HeadFile
from headway.options import Options, check_text
from headway.parts import Parts
from headway.request import require_window
from headway.steps import trace
from headway.threads import (
    Kept,
    ThreadRecord,
    load_record,
    new_thread_id,
    plain_options,
    save_record,
)
from headway_tools.errors import HeadwayError
from headway_tools.home import Home, default_home
from headway_tools.replace import sweep
from headway_tools.storage import Lock
from headway_tools.values import clean_text


@dataclass(frozen=True)
class Job:
    """One run, decided: the agent's parts, its thread, and what goes in."""

    parts: Parts
    thread: str
    task: str | None
    decisions: Any
    home: Home | None
    record: ThreadRecord | None
    branch: str = MAIN
    """The line of the thread that this run goes on with."""
    branched: bool = False
    """The thread has named branches."""
    crashed: bool = False
    """The newest run of the thread did not end, or is still under way."""

    @property
    def config(self) -> RunnableConfig:
        return {"configurable": {"thread_id": self.thread}}

    def graph(self, saver: BaseCheckpointSaver[Any]) -> Agent:
        """The agent over the branch of this run. `HeadwayError`: `saver` is none."""
        if not isinstance(saver, BaseCheckpointSaver):
            raise HeadwayError(
                f"checkpointer should be an opened saver like InMemorySaver(), not {saver!r:.80}"
            )
        if self.home is not None:
            saver = BranchView(saver, self.branch, HeadFile(self.home.thread(self.thread).heads))
        return compile_agent(self.parts, checkpointer=saver)

    def start_event(self, beside: Sequence[str]) -> Event:
        """`beside`: the other threads at work in the same folder."""
        settings = self.parts.settings
        return {
            "type": "start",
            "thread": self.thread,
            "task": self.task,
            "workspace": str(settings.workspace) if settings.workspace else None,
            "model": settings.model
            or (type(self.parts.model).__name__ if self.parts.model else None),
            "sandbox": settings.sandbox,
            "limits": settings.limits.model_dump(),
            "beside": list(beside),
        }


NOTHING: Final = object()
"""What goes into a thread that waits for a person, or that was killed when its run had ended."""


def prepare(
    task: str | None,
    model: BaseChatModel | str | None,
    tools: Sequence[BaseTool | Callable[..., Any]] | None,
    thread_id: str | None,
    branch: str | None,
    decisions: Any,
    name: str,
    options: Options,
) -> Job:
    """Check the arguments and bind the parts. Raises `HeadwayError` for wrong use."""
    check_text(task=task, thread_id=thread_id, branch=branch)
    _check_start(task, thread_id)
    task = clean_text(task) if task is not None else None
    parts = make_parts(model, tools=tools, name=name, options=options)
    parts.require_isolation()
    parts.chat(Context())
    require_window(parts)
    where = parts.settings.home or default_home()
    home = None if parts.settings.memory else Home(where).readable()
    thread = thread_id or new_thread_id(task or "")
    known = home is not None and home.thread(thread).record.exists()
    if not known:
        parts.require_protected()
        parts.require_allowed()
    if home is None:
        return Job(parts, thread, task, decisions, None, None)
    before = load_record(home, thread) if known else ThreadRecord(thread=thread, task=task or "")
    heads = HeadFile(home.thread(thread).heads).load()
    line = branch or heads.current
    return Job(
        parts=parts,
        thread=thread,
        task=task,
        decisions=decisions,
        home=home,
        record=_record(before, line, parts, options),
        branch=line,
        branched=bool(heads.starts),
        crashed=known and before.status is None,
    )


def _check_start(task: str | None, thread_id: str | None) -> None:
    if task is None and thread_id is None:
        raise HeadwayError("give a task, or a thread_id to go on with")
    if task is not None and not task.strip():
        raise HeadwayError("the task is empty")
    if thread_id == "":
        raise HeadwayError("the thread_id is empty; None lets headway make one up")


def _record(before: ThreadRecord, branch: str, parts: Parts, options: Options) -> ThreadRecord:
    settings = parts.settings
    kept = Kept(model=settings.model, options=plain_options(options))
    return before.keeping(branch, kept).model_copy(
        update={
            "workspace": str(settings.workspace) if settings.workspace else None,
            "root": str(settings.root) if settings.root else None,
            "status": None,
            "moved": "",
            "left": "",
        }
    )


def folder_of(snapshot: StateSnapshot) -> str:
    """The name of the folder that a branch works in; empty for the workspace itself."""
    return str(snapshot.values.get("hw_branch", ""))


def lock(job: Job, folder: str) -> Lock | None:
    """The lock of the folder that this run works in: branches may share the workspace itself.
    A thread in memory needs none."""
    if job.home is None:
        return None
    return job.parts.environments.storage.lock(job.thread, folder or MAIN)


def at_work(job: Job, folder: str) -> AbstractContextManager[list[str]]:
    """Be known as at work in the run's folder; the other threads that are."""
    turns = job.parts.environments.get(job.thread, folder).turns if job.home else None
    return turns.at_work() if turns else nullcontext([])


def begin(job: Job, folder: str) -> None:
    """Under the lock: keep the record and the current branch, remove what a killed edit left."""
    require_check(job, folder)
    if job.home is None or job.record is None:
        return
    save_record(job.home, job.record)
    store = HeadFile(job.home.thread(job.thread).heads)
    if (heads := store.load()).current != job.branch:
        store.save(heads.on(job.branch))
    env = job.parts.environments.get(job.thread, folder) if job.crashed else None
    if env is not None and env.workspace is not None:
        sweep(env.workspace.root, env.workspace.withheld)


def require_check(job: Job, folder: str) -> None:
    """Refuse a check that is empty, or whose program the sandbox does not have, before any call."""
    check = job.parts.settings.check
    if check is not None and not check.strip():
        raise HeadwayError("the check is empty: give it a command, or leave it out")
    env = job.parts.environments.get(job.thread, folder) if check else None
    if check and env and env.workspace and env.sandbox:
        deadline = time.monotonic() + CHECK_TIMEOUT
        if program := missing_program(Check(check, env, deadline)):
            raise HeadwayError(
                f"the check cannot be started: commands find no {program!r} (`headway doctor` "
                "shows what they see); correct --check"
            )


def refuse_first(
    task: str, *, model: BaseChatModel | str | None = None, **options: Unpack[Options]
) -> None:
    """Raise the `HeadwayError` of a new run of `task` that would be refused; nothing is written."""
    kept_nowhere: Options = {**options, "memory": True}
    job = prepare(task, model, None, None, None, None, "headway", kept_nowhere)
    try:
        require_check(job, "")
    finally:
        job.parts.environments.close()


def next_input(snapshot: StateSnapshot, job: Job) -> Any:
    """What goes into the graph: the task, an answer, nothing (go on at the pending step), or for
    a thread that ended without an answer a re-entry without a message.

    A run killed after its step was recorded and before the next one was is not at its end:
    LangGraph then names nothing in `next`, but the step's task.
    """
    if job.decisions is not None:
        if not snapshot.interrupts:
            raise HeadwayError(f"nothing waits for a decision in thread {job.thread}")
        answer = job.decisions
        wrapped = {"decisions": answer} if isinstance(answer, list) else answer
        return Command(resume={snapshot.interrupts[0].id: wrapped})
    if job.task is not None:
        return {"messages": [HumanMessage(job.task)]}
    if snapshot.interrupts:
        return NOTHING
    if snapshot.tasks:
        return None
    if not snapshot.values.get("messages"):
        raise HeadwayError(f"thread {job.thread} holds nothing to go on with; give it a task")
    if (snapshot.values.get("outcome") or {}).get("status") != "completed":
        return {"messages": []}
    if not job.crashed:
        raise HeadwayError(f"thread {job.thread} is completed: to go on, give it a message")
    return NOTHING


def turn_of(snapshot: StateSnapshot, job: Job) -> int:
    """The newest turn of the run that goes on; 0 where a new message starts one."""
    steps = trace(snapshot.values.get("messages", [])) if job.task is None else []
    return steps[-1].turn if steps else 0
