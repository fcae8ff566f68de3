"""Around each tool call: record before and after, snapshot, time limit, every result a value."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any, Final

from langchain_core.messages import ToolMessage, convert_to_messages
from langgraph.errors import GraphBubbleUp
from langgraph.prebuilt.tool_node import ToolCallRequest, ToolInvocationError
from langgraph.types import Command

from headway.limits import Limits
from headway.masking import masked
from headway.spending import seconds_left
from headway.state import Run
from headway.within import TooLate, call_within
from headway_tools.env import ToolEnv
from headway_tools.errors import HeadwayError, ToolFailure, unexpected
from headway_tools.kinds import Declaration
from headway_tools.results import observation
from headway_tools.values import plain

MOST_OF_AN_ERROR: Final = 2000
"""Characters of a tool's exception that the model is shown."""

MOST_NAMED: Final = 30
"""Changed files that a shortened request lists; every checkpoint holds them."""

GRACE: Final = 1.0
"""Seconds that a cancelled coroutine gets to clean up."""

STILL_RUNNING: Final = "it may still be running in the background"


@dataclass
class Batch:
    """The calls of one reply, on one branch. Changing calls run one at a time, so only they
    touch the fields below."""

    env: ToolEnv
    check: Callable[[], None]
    """Raises where another worker has gone on with the branch."""
    declaration: Callable[[str], Declaration]
    files: str
    run: Run
    limits: Limits
    started: float
    allowed: int = 0
    refused: int = 0
    warnings: list[str] = field(default_factory=list)

    def changed(self) -> list[str]:
        """Paths that differ from the start of the run, a bounded number."""
        changes = self.env.changes(self.run.get("files_at_start"), self.files)
        return [change.path for change in changes][:MOST_NAMED]

    def run_call(self, request: ToolCallRequest, execute: Callable[[ToolCallRequest], Any]) -> Any:
        """Execute once and record; a call already recorded is not executed again."""
        key, known = self._before(request)
        if known is not None:
            return known
        try:
            output = self._bounded(request, execute)
        except GraphBubbleUp:
            self.env.journal.forget(key)
            raise
        return self._after(request, key, output)

    async def arun_call(
        self, request: ToolCallRequest, execute: Callable[[ToolCallRequest], Awaitable[Any]]
    ) -> Any:
        """`run_call`, asynchronously; disk work stays off the event loop."""
        key, known = await asyncio.to_thread(self._before, request)
        if known is not None:
            return known
        try:
            output = await self._abounded(request, execute)
        except GraphBubbleUp:
            await asyncio.to_thread(self.env.journal.forget, key)
            raise
        return await asyncio.to_thread(self._after, request, key, output)

    def _declared(self, request: ToolCallRequest) -> Declaration:
        return self.declaration(request.tool_call["name"])

    def _before(self, request: ToolCallRequest) -> tuple[str, ToolMessage | None]:
        """The journal's key, and the recorded answer where this call ran, or may have run."""
        self.check()
        call, info = request.tool_call, request.runtime.execution_info
        key = f"{info.task_id if info else ''}/{call['id']}"
        changing = self._declared(request).kind == "write"
        entry = self.env.journal.lookup(key)
        if entry is not None and entry.state == "done" and entry.ref is not None:
            self.files = entry.ref.get("after") or self.files
            return key, _message(request, entry.ref)
        if entry is not None and changing and not self._declared(request).idempotent:
            return key, self._may_have_run(request, key, entry.before)
        if changing:
            self._note_files()
            self.env.journal.start(
                key, call=call["id"] or "", name=call["name"], before=self.files or None
            )
        return key, None

    def _may_have_run(self, request: ToolCallRequest, key: str, before: str | None) -> ToolMessage:
        self._note_files()
        changed = [change.path for change in self.env.changes(before, self.files)][:50]
        details: dict[str, object] = {"changed": changed} if before and self.files else {}
        failure = ToolFailure(
            "interrupted",
            "headway stopped while this call ran: it may have run, in whole or in part",
            "look at the present state before you repeat it",
            **details,
        )
        return self._record(request, key, "error", observation(failure.as_result()), before)

    def _bounded(self, request: ToolCallRequest, execute: Callable[[ToolCallRequest], Any]) -> Any:
        """Run within the tool's time. Ours keep it themselves; a foreign function that
        does not return is left behind, and that is said."""
        if self._declared(request).own:
            return _guarded(lambda: execute(request))
        seconds = self._seconds()
        try:
            return call_within(lambda: _guarded(lambda: execute(request)), seconds)
        except TooLate:
            return self._left_behind(request, seconds)

    async def _abounded(
        self, request: ToolCallRequest, execute: Callable[[ToolCallRequest], Awaitable[Any]]
    ) -> Any:
        """`_bounded`, asynchronously; a foreign coroutine that swallows its cancellation is left
        behind, too."""
        if self._declared(request).own:
            return await _aguarded(execute(request))
        seconds = self._seconds()
        task = asyncio.ensure_future(_aguarded(execute(request)))
        try:
            done, _ = await asyncio.wait({task}, timeout=seconds)
        finally:
            if not task.done():
                task.cancel()
                await asyncio.wait({task}, timeout=GRACE)
        return task.result() if done else self._left_behind(request, seconds)

    def _seconds(self) -> float:
        return seconds_left(self.run, self.limits, self.env.tool_timeout)

    def _left_behind(self, request: ToolCallRequest, seconds: float) -> dict[str, object]:
        name = request.tool_call["name"]
        self.warnings.append(f"{name} did not return within {seconds:g} s; {STILL_RUNNING}")
        return _failure(
            ToolFailure(
                "timeout",
                f"no result within {seconds:g} s; {STILL_RUNNING}, and its result is discarded",
                "check its effect before you repeat it",
            )
        )

    def _after(self, request: ToolCallRequest, key: str, output: Any) -> Any:
        """Record the result; what leaves is a message that carries only the reference."""
        self.check()
        if isinstance(output, list):
            return [self._after(request, key, item) for item in output]
        if isinstance(output, dict) and "failure" in output:
            return self._record(request, key, "error", output["failure"])
        if isinstance(output, Command) and output.graph == Command.PARENT:
            if "|" in request.runtime.config["configurable"].get("checkpoint_ns", ""):
                self.env.journal.forget(key)
                return output
            failure = ToolFailure(
                "not_run", "there is no other agent here to hand over to", "go on yourself"
            )
            return self._record(request, key, "error", observation(failure.as_result()))
        if isinstance(output, Command):
            return self._command(request, key, output)
        if isinstance(output, ToolMessage):
            return self._record(request, key, output.status, output.content)
        return output

    def _command(self, request: ToolCallRequest, key: str, command: Command[Any]) -> Any:
        """A state update by a tool. It is not recorded as done: on resume it is made again. Only
        its messages count: the other keys of the state are headway's, and so is the way."""
        self.env.journal.forget(key)
        call = request.tool_call
        if not isinstance(command.update, dict):
            failure = unexpected("the tool's Command holds no answer to its call")
            return self._record(request, key, "error", observation(failure.as_result()))
        if command.goto:
            self.warnings.append(
                f"{call['name']} asked to go to {command.goto!r:.80}; after tools comes the model"
            )
        own = call["id"]
        messages = [
            self._record(request, f"{key}#state", m.status, m.content)
            if isinstance(m, ToolMessage) and m.tool_call_id == own
            else m
            for m in convert_to_messages(command.update.get("messages", []))
        ]
        return Command(update={"messages": messages})

    def _record(
        self,
        request: ToolCallRequest,
        key: str,
        status: Any,
        content: Any,
        before: str | None = None,
    ) -> ToolMessage:
        before = before or self.files or None
        after = None
        if self._declared(request).kind == "write":
            self._note_files()
            after = self.files or None
        ref = self.env.journal.finish(
            key,
            call=request.tool_call["id"] or "",
            name=request.tool_call["name"],
            status=status,
            content=masked(content, self.env.mask),
            before=before,
            after=after,
        )
        return _message(request, ref)

    def _note_files(self) -> None:
        self.files = self.env.files_now() or self.files


def _message(request: ToolCallRequest, ref: Any) -> ToolMessage:
    return ToolMessage(
        "",
        name=request.tool_call["name"],
        tool_call_id=request.tool_call["id"],
        status=ref["status"],
        artifact={**ref},
    )


def _guarded(run: Callable[[], Any]) -> Any:
    try:
        return run()
    except BaseException as error:
        return _caught(error)


async def _aguarded(call: Awaitable[Any]) -> Any:
    try:
        return await call
    except BaseException as error:
        if isinstance(error, asyncio.CancelledError | GeneratorExit) and _ended_from_outside():
            raise
        return _caught(error)


def _ended_from_outside() -> bool:
    """Whether somebody cancels or closes this call; else it is the tool's own failure."""
    try:
        task = asyncio.current_task()
    except RuntimeError:
        return True
    return task is None or task.cancelling() > 0


def _caught(error: BaseException) -> dict[str, object]:
    """Any exception of a tool as a failure; what LangGraph or the user must see passes."""
    if isinstance(error, GraphBubbleUp | HeadwayError | KeyboardInterrupt):
        raise error
    return _failure(as_failure(error))


def as_failure(error: BaseException) -> ToolFailure:
    """What the model is told about an exception: its own code or its first lines."""
    if isinstance(error, ToolFailure):
        return error
    if isinstance(error, ToolInvocationError):
        text = str(error)[:MOST_OF_AN_ERROR]
        return ToolFailure("invalid_arguments", text, "correct the arguments and call again")
    return unexpected(str(plain(error))[:MOST_OF_AN_ERROR])


def _failure(failure: ToolFailure) -> dict[str, object]:
    return {"failure": observation(failure.as_result())}
