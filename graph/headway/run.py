"""`run_agent` and its kin: a task as a thread that is saved before the first model call."""

import asyncio
from collections.abc import AsyncGenerator, Callable, Iterator, Sequence
from contextlib import AsyncExitStack, ExitStack, aclosing
from dataclasses import dataclass, field
from typing import Any, Final

from langchain_core.language_models import BaseChatModel
from langchain_core.tools import BaseTool
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.errors import GraphDrained
from langgraph.runtime import RunControl
from typing_extensions import Unpack

from headway.build import Agent
from headway.ending import end
from headway.events import STREAM_MODES, Event, Events
from headway.job import (
    NOTHING,
    Job,
    at_work,
    begin,
    folder_of,
    lock,
    next_input,
    prepare,
    turn_of,
)
from headway.options import Options
from headway.outcome import Outcome
from headway.storage import open_async_saver, open_saver
from headway_tools.home import Home

LOCK_SECONDS: Final = 2.0
"""How long a run waits for another one on the same branch before it is refused."""


@dataclass
class Control:
    """Stops a run that `astream_agent` drives: `stop` after the present step, `now` at once.
    Both leave the thread saved and ready to resume; what failed is not tried again."""

    drain: RunControl = field(default_factory=RunControl)
    task: "asyncio.Task[None] | None" = None
    cancelled: bool = False
    retrying: bool = False

    def stop(self) -> None:
        self.cancelled = True
        self.drain.request_drain("stopped")
        if self.retrying:
            self._cancel()

    def now(self) -> None:
        self.stop()
        self._cancel()

    def saw(self, event: Event) -> None:
        """Each event of the run in turn."""
        self.retrying = event.get("about") == "retry"
        if self.retrying and self.cancelled:
            self._cancel()

    def _cancel(self) -> None:
        if self.task is not None:
            self.task.cancel()


def run_agent(
    task: str | None,
    *,
    model: BaseChatModel | str | None = None,
    tools: Sequence[BaseTool | Callable[..., Any]] | None = None,
    checkpointer: BaseCheckpointSaver[Any] | None = None,
    thread_id: str | None = None,
    branch: str | None = None,
    decisions: Any = None,
    name: str = "headway",
    **options: Unpack[Options],
) -> Outcome:
    """Run `task` to its end and return what came of it; it never raises for what a model, a tool
    or a limit did. `task=None` with a `thread_id` goes on where that thread stopped
    short of an accepted answer; `decisions` answers what waits there; `branch` names a branch of
    it, else the current one goes on. Without `checkpointer` the thread is kept in headway's data
    folder.

    Raises `HeadwayError` for wrong use, before any model call.
    """
    events = stream_agent(
        task, model=model, tools=tools, checkpointer=checkpointer, thread_id=thread_id,
        branch=branch, decisions=decisions, name=name, **options,
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
    branch: str | None = None,
    decisions: Any = None,
    name: str = "headway",
    **options: Unpack[Options],
) -> Outcome:
    """`run_agent`, asynchronously; cancelling the task stops the run's own tools at once."""
    events = astream_agent(
        task, model=model, tools=tools, checkpointer=checkpointer, thread_id=thread_id,
        branch=branch, decisions=decisions, name=name, **options,
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
    branch: str | None = None,
    decisions: Any = None,
    name: str = "headway",
    **options: Unpack[Options],
) -> Iterator[Event]:
    """`run_agent` as events (`headway.events.Event`); the last one is `end` with the outcome."""
    job = prepare(task, model, tools, thread_id, branch, decisions, name, options)
    with ExitStack() as stack:
        saver = checkpointer or _memory_or(job, lambda home: stack.enter_context(open_saver(home)))
        graph = job.graph(saver)
        stack.callback(job.parts.environments.close)
        folder = folder_of(graph.get_state(job.config)) if job.branched else ""
        if held := lock(job, folder):
            stack.enter_context(held.acquire(LOCK_SECONDS))
        state = graph.get_state(job.config)
        given, turn = next_input(state, job), turn_of(state, job)
        begin(job, folder)
        yield job.start_event(stack.enter_context(at_work(job, folder)))
        if given is not NOTHING:
            events = Events(turn)
            for part in graph.stream(
                given, job.config, stream_mode=list(STREAM_MODES), version="v2"
            ):
                yield from events.of(part)
        yield end(job, graph.get_state(job.config), cancelled=False)


async def astream_agent(
    task: str | None,
    *,
    model: BaseChatModel | str | None = None,
    tools: Sequence[BaseTool | Callable[..., Any]] | None = None,
    checkpointer: BaseCheckpointSaver[Any] | None = None,
    thread_id: str | None = None,
    branch: str | None = None,
    decisions: Any = None,
    name: str = "headway",
    control: Control | None = None,
    **options: Unpack[Options],
) -> AsyncGenerator[Event, None]:
    """`stream_agent`, asynchronously; `control` stops it, and the last event is `end` even then."""
    job = prepare(task, model, tools, thread_id, branch, decisions, name, options)
    control = control or Control()
    async with AsyncExitStack() as stack:
        saver: BaseCheckpointSaver[Any]
        if checkpointer is not None:
            saver = checkpointer
        else:
            saver = (
                await stack.enter_async_context(open_async_saver(job.home))
                if job.home
                else InMemorySaver()
            )
        graph = job.graph(saver)
        stack.callback(job.parts.environments.close)
        folder = folder_of(await graph.aget_state(job.config)) if job.branched else ""
        if held := lock(job, folder):
            await stack.enter_async_context(held.acquire_async(LOCK_SECONDS))
        state = await graph.aget_state(job.config)
        given, turn = next_input(state, job), turn_of(state, job)
        await asyncio.to_thread(begin, job, folder)
        yield job.start_event(stack.enter_context(at_work(job, folder)))
        if given is not NOTHING:
            async with aclosing(_driven(graph, given, job, control, Events(turn))) as events:
                async for event in events:
                    yield event
        state = await graph.aget_state(job.config)
        yield await asyncio.to_thread(end, job, state, cancelled=control.cancelled)


async def _driven(
    graph: Agent, given: Any, job: Job, control: Control, events: Events
) -> AsyncGenerator[Event, None]:
    """The events of the run, which goes in a task of its own so that `control` can cancel it."""
    queue: asyncio.Queue[Event | None] = asyncio.Queue()

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
                    control.saw(event)
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


def _memory_or(
    job: Job, opened: Callable[[Home], BaseCheckpointSaver[Any]]
) -> BaseCheckpointSaver[Any]:
    return opened(job.home) if job.home else InMemorySaver()
