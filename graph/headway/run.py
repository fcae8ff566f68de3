"""`run_agent` and its kin: a task as a thread that is saved before the first model call."""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import AsyncExitStack, ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import HumanMessage
from langchain_core.runnables import RunnableConfig
from langchain_core.tools import BaseTool
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.errors import GraphDrained
from langgraph.runtime import RunControl
from langgraph.types import Command, StateSnapshot
from typing_extensions import Unpack

from headway.build import Agent, Options, compile_agent, make_parts
from headway.events import STREAM_MODES, Event, Events
from headway.outcome import Outcome
from headway.parts import Parts
from headway.report import outcome
from headway.status import Status
from headway.steps import trace
from headway.storage import async_sqlite_saver, sqlite_saver
from headway.threads import ThreadRecord, load_record, new_thread_id, save_record
from headway_tools.errors import HeadwayError
from headway_tools.home import Home, default_home
from headway_tools.locks import BranchLock

LOCK_SECONDS: Final = 2.0
"""How long a run waits for another one on the same branch before it is refused."""


@dataclass
class Control:
    """Stops a run that `astream_agent` drives: `stop` after the present step, `now` at once.
    Both leave the thread saved and ready to resume."""

    drain: RunControl = field(default_factory=RunControl)
    task: "asyncio.Task[None] | None" = None
    cancelled: bool = False

    def stop(self) -> None:
        self.cancelled = True
        self.drain.request_drain("stopped")

    def now(self) -> None:
        self.stop()
        if self.task is not None:
            self.task.cancel()


@dataclass(frozen=True)
class Job:
    """One run, decided: the agent's parts, its thread, and what goes in."""

    parts: Parts
    thread: str
    task: str | None
    decisions: Any
    home: Home | None
    record: ThreadRecord | None

    @property
    def config(self) -> RunnableConfig:
        return {"configurable": {"thread_id": self.thread}}

    def start_event(self) -> Event:
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
        }


def run_agent(
    task: str | None,
    *,
    model: BaseChatModel | str | None = None,
    tools: Sequence[BaseTool | Callable[..., Any]] | None = None,
    checkpointer: BaseCheckpointSaver[Any] | None = None,
    thread_id: str | None = None,
    decisions: Any = None,
    name: str = "headway",
    **options: Unpack[Options],
) -> Outcome:
    """Run `task` to its end and return what came of it; it never raises for what a model, a tool
    or a limit did. `task=None` with a `thread_id` goes on where that thread stopped; `decisions`
    answers what waits there. Without `checkpointer` the thread is kept in headway's data folder.

    Raises `HeadwayError` for wrong use, before any model call.
    """
    events = stream_agent(
        task, model=model, tools=tools, checkpointer=checkpointer, thread_id=thread_id,
        decisions=decisions, name=name, **options,
    )  # fmt: skip
    last = list(events)[-1]
    return Outcome.model_validate(last["outcome"])


async def arun_agent(
    task: str | None,
    *,
    model: BaseChatModel | str | None = None,
    tools: Sequence[BaseTool | Callable[..., Any]] | None = None,
    checkpointer: BaseCheckpointSaver[Any] | None = None,
    thread_id: str | None = None,
    decisions: Any = None,
    name: str = "headway",
    **options: Unpack[Options],
) -> Outcome:
    """`run_agent`, asynchronously; cancelling the task stops the run's own tools at once."""
    events = astream_agent(
        task, model=model, tools=tools, checkpointer=checkpointer, thread_id=thread_id,
        decisions=decisions, name=name, **options,
    )  # fmt: skip
    last: Event = {}
    async for event in events:
        last = event
    return Outcome.model_validate(last["outcome"])


def stream_agent(
    task: str | None,
    *,
    model: BaseChatModel | str | None = None,
    tools: Sequence[BaseTool | Callable[..., Any]] | None = None,
    checkpointer: BaseCheckpointSaver[Any] | None = None,
    thread_id: str | None = None,
    decisions: Any = None,
    name: str = "headway",
    **options: Unpack[Options],
) -> Iterator[Event]:
    """`run_agent` as events (`headway.events.Event`); the last one is `end` with the outcome."""
    job = prepare(task, model, tools, thread_id, decisions, name, options)
    with ExitStack() as stack:
        saver = checkpointer or _memory_or(
            job, lambda home: stack.enter_context(sqlite_saver(home))
        )
        graph = compile_agent(job.parts, checkpointer=saver)
        if lock := _lock(job):
            stack.enter_context(lock.acquire(LOCK_SECONDS))
        stack.callback(job.parts.environments.close)
        _remember(job)
        given = next_input(graph.get_state(job.config), job)
        yield job.start_event()
        if given is not WAITING:
            events = Events()
            for part in graph.stream(
                given, job.config, stream_mode=list(STREAM_MODES), version="v2"
            ):
                yield from events.of(part)
        yield _end(job, graph.get_state(job.config), cancelled=False)


async def astream_agent(
    task: str | None,
    *,
    model: BaseChatModel | str | None = None,
    tools: Sequence[BaseTool | Callable[..., Any]] | None = None,
    checkpointer: BaseCheckpointSaver[Any] | None = None,
    thread_id: str | None = None,
    decisions: Any = None,
    name: str = "headway",
    control: Control | None = None,
    **options: Unpack[Options],
) -> AsyncIterator[Event]:
    """`stream_agent`, asynchronously; `control` stops it, and the last event is `end` even then."""
    job = prepare(task, model, tools, thread_id, decisions, name, options)
    control = control or Control()
    async with AsyncExitStack() as stack:
        saver = checkpointer
        if saver is None:
            saver = (
                await stack.enter_async_context(async_sqlite_saver(job.home))
                if job.home
                else InMemorySaver()
            )
        graph = compile_agent(job.parts, checkpointer=saver)
        if lock := _lock(job):
            await stack.enter_async_context(lock.acquire_async(LOCK_SECONDS))
        stack.callback(job.parts.environments.close)
        await asyncio.to_thread(_remember, job)
        given = next_input(await graph.aget_state(job.config), job)
        yield job.start_event()
        if given is not WAITING:
            async for event in _driven(graph, given, job, control):
                yield event
        state = await graph.aget_state(job.config)
        yield await asyncio.to_thread(_end, job, state, cancelled=control.cancelled)


async def _driven(graph: Agent, given: Any, job: Job, control: Control) -> AsyncIterator[Event]:
    """The events of the run, which goes in a task of its own so that `control` can cancel it."""
    queue: asyncio.Queue[Event | None] = asyncio.Queue()
    events = Events()

    async def drive() -> None:
        try:
            async for part in graph.astream(
                given,
                job.config,
                stream_mode=list(STREAM_MODES),
                version="v2",
                control=control.drain,
            ):
                for event in events.of(part):
                    queue.put_nowait(event)
        except GraphDrained:
            pass
        finally:
            queue.put_nowait(None)

    control.task = asyncio.create_task(drive())
    try:
        while (event := await queue.get()) is not None:
            yield event
        await control.task
    except asyncio.CancelledError:
        if not control.cancelled:
            raise
    finally:
        if not control.task.done():
            control.task.cancel()
            await asyncio.wait({control.task})


WAITING: Final = object()
"""Nothing goes in: the thread waits for a person."""


def prepare(
    task: str | None,
    model: BaseChatModel | str | None,
    tools: Sequence[BaseTool | Callable[..., Any]] | None,
    thread_id: str | None,
    decisions: Any,
    name: str,
    options: Options,
) -> Job:
    """Check the arguments and bind the parts. Raises `HeadwayError` for wrong use."""
    if task is None and thread_id is None:
        raise HeadwayError("give a task, or a thread_id to go on with")
    if task is not None and not task.strip():
        raise HeadwayError("the task is empty")
    parts = make_parts(model, tools=tools, name=name, options=options)
    parts.require_isolation()
    home = None if parts.settings.memory else Home(parts.settings.home or default_home())
    thread = thread_id or new_thread_id(task or "")
    record = _record(home, thread, task, parts, options) if home else None
    return Job(parts, thread, task, decisions, home, record)


def _record(
    home: Home, thread: str, task: str | None, parts: Parts, options: Options
) -> ThreadRecord:
    settings = parts.settings
    if home.thread(thread).record.exists():
        known = load_record(home, thread)
    else:
        known = ThreadRecord(thread=thread, task=task or "")
    return known.model_copy(
        update={
            "workspace": str(settings.workspace) if settings.workspace else None,
            "root": str(settings.root) if settings.root else None,
            "model": settings.model,
            "options": plain_options(options),
            "status": None,
        }
    )


def plain_options(options: Options) -> dict[str, Any]:
    """The options that a later process can use again; never a key, never an object."""
    return {
        key: _plain(value)
        for key, value in options.items()
        if key not in ("api_key", "home", "workspace", "root", "verify", "response_format")
    }


def _plain(value: Any) -> Any:
    if hasattr(value, "model_dump"):
        return value.model_dump()
    if isinstance(value, Path):
        return str(value)
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    return value


def _memory_or(
    job: Job, opened: Callable[[Home], BaseCheckpointSaver[Any]]
) -> BaseCheckpointSaver[Any]:
    return opened(job.home) if job.home else InMemorySaver()


def _lock(job: Job) -> BranchLock | None:
    """The lock of the branch that this run goes on with; a thread in memory needs none."""
    if job.home is None:
        return None
    folder = job.home.make().thread(job.thread).make()
    branch = (job.record.branch if job.record else "") or "main"
    return BranchLock(folder, branch)


def _remember(job: Job) -> None:
    if job.home and job.record:
        save_record(job.home, job.record)


def next_input(snapshot: StateSnapshot, job: Job) -> Any:
    """What goes into the graph: the task, an answer, nothing (go on at the pending step), or for
    a thread that ended a re-entry without a message."""
    if job.decisions is not None:
        if not snapshot.interrupts:
            raise HeadwayError(f"nothing waits for a decision in thread {job.thread}")
        answer = job.decisions
        wrapped = {"decisions": answer} if isinstance(answer, list) else answer
        return Command(resume={snapshot.interrupts[0].id: wrapped})
    if job.task is not None:
        return {"messages": [HumanMessage(job.task)]}
    if snapshot.interrupts:
        return WAITING
    if not snapshot.values.get("messages"):
        raise HeadwayError(f"thread {job.thread} holds nothing to go on with; give it a task")
    return None if snapshot.next else {"messages": []}


def _end(job: Job, snapshot: StateSnapshot, *, cancelled: bool) -> Event:
    """The last event; writes the status into the record."""
    values: Any = snapshot.values
    result = _outcome(job, snapshot, values, cancelled)
    done = result.model_copy(
        update={
            "thread": job.thread,
            "checkpoint": snapshot.config["configurable"].get("checkpoint_id"),
            "steps": trace(values.get("messages", [])),
        }
    )
    if job.home and job.record:
        save_record(job.home, job.record.model_copy(update={"status": done.status}))
    return {"type": "end", "outcome": done.model_dump(mode="json")}


def _outcome(
    job: Job, snapshot: StateSnapshot, values: Mapping[str, Any], cancelled: bool
) -> Outcome:
    if values.get("outcome") and not snapshot.next:
        return Outcome.model_validate(values["outcome"])
    state: Any = values
    run_id = values.get("hw_run", {}).get("id", "")
    env = job.parts.environments.get(job.thread, values.get("hw_branch", ""), run_id)
    status: Status = "needs_approval" if snapshot.interrupts and not cancelled else "cancelled"
    pending = [{"id": i.id, **_as_dict(i.value)} for i in snapshot.interrupts]
    made = outcome(state, status=status, env=env, limits=job.parts.settings.limits)
    return made.model_copy(update={"pending": pending})


def _as_dict(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {"value": value}
