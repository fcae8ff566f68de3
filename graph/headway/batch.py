"""Around each tool call: record before and after, snapshot, time limit, every result a value."""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import nullcontext
from dataclasses import dataclass, field
from typing import Any, Final

from langchain_core.messages import ToolMessage, convert_to_messages
from langgraph.errors import GraphBubbleUp
from langgraph.prebuilt.tool_node import ToolCallRequest
from langgraph.types import Command

from headway.guarded import aguarded, failed, guarded, unrecorded
from headway.limits import Limits
from headway.masking import masked
from headway.outside import fewer, gap, own_changes
from headway.spending import seconds_left
from headway.state import Gap, Run
from headway.within import TooLate, call_within
from headway_tools.env import ToolEnv
from headway_tools.errors import ToolFailure, unexpected
from headway_tools.kinds import Declaration
from headway_tools.results import observation
from headway_tools.turns import TURN_SECONDS, Turn, Turns

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
    left: str
    """The workspace as headway left it: `files`, and what a check left behind."""
    outside: list[Gap]
    run: Run
    limits: Limits
    started: float
    allowed: int = 0
    refused: int = 0
    warnings: list[str] = field(default_factory=list)

    def changed(self) -> list[str]:
        """Paths that differ from the start of the run, a bounded number."""
        start, gaps = self.run.get("files_at_start", ""), self.run.get("outside_at_start", 0)
        changes = own_changes(self.env.changes, start, self.outside[gaps:], self.files)
        return [change.path for change in changes][:MOST_NAMED]

    def run_call(self, request: ToolCallRequest, execute: Callable[[ToolCallRequest], Any]) -> Any:
        """Execute once and record; a call already recorded is not executed again."""
        turns = self._turns(request)
        with turns.take(self._seconds(TURN_SECONDS)) if turns else nullcontext(Turn()) as turn:
            return self._run(request, execute, turn) if turn else _not_run(request)

    async def arun_call(
        self, request: ToolCallRequest, execute: Callable[[ToolCallRequest], Awaitable[Any]]
    ) -> Any:
        """`run_call`, asynchronously; disk work stays off the event loop."""
        turns = self._turns(request)
        async with (
            turns.atake(self._seconds(TURN_SECONDS)) if turns else nullcontext(Turn()) as turn
        ):
            return await self._arun(request, execute, turn) if turn else _not_run(request)

    def _turns(self, request: ToolCallRequest) -> Turns | None:
        """Where a changing call waits, so that the snapshots around it hold its changes alone."""
        return self.env.turns if self._declared(request).kind == "write" else None

    def _run(
        self, request: ToolCallRequest, execute: Callable[[ToolCallRequest], Any], turn: Turn
    ) -> Any:
        key, known = self._before(request, turn)
        if known is not None:
            return known
        try:
            output = self._bounded(request, execute)
        except GraphBubbleUp:
            self.env.journal.forget(key)
            raise
        return self._after(request, key, output)

    async def _arun(
        self,
        request: ToolCallRequest,
        execute: Callable[[ToolCallRequest], Awaitable[Any]],
        turn: Turn,
    ) -> Any:
        key, known = await asyncio.to_thread(self._before, request, turn)
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

    def _before(self, request: ToolCallRequest, turn: Turn) -> tuple[str, ToolMessage | None]:
        """The journal's key, and the recorded answer where this call ran, or may have run."""
        self.check()
        call, info = request.tool_call, request.runtime.execution_info
        key = f"{info.task_id if info else ''}/{call['id']}"
        declared = self._declared(request)
        entry = self.env.journal.lookup(key)
        if entry is not None and entry.ref is not None:
            if after := entry.ref.get("after"):
                self._found(entry.before)
                self.files = self.left = after
            return key, _message(request, entry.ref)
        if entry is not None:
            self._found(entry.before)
        if declared.kind == "write":
            self._look(own=entry is not None and turn.undisturbed)
            if entry is not None and not declared.idempotent:
                return key, self._may_have_run(request, key, entry.before)
            turn.sign()
            self.env.journal.start(
                key, call=call["id"] or "", name=call["name"], before=self.files or None
            )
        return key, None

    def _may_have_run(self, request: ToolCallRequest, key: str, before: str | None) -> ToolMessage:
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
            return guarded(lambda: execute(request))
        seconds = self._seconds(self.env.tool_timeout)
        try:
            return call_within(lambda: guarded(lambda: execute(request)), seconds)
        except TooLate:
            return self._left_behind(request, seconds)

    async def _abounded(
        self, request: ToolCallRequest, execute: Callable[[ToolCallRequest], Awaitable[Any]]
    ) -> Any:
        """`_bounded`, asynchronously; a foreign coroutine that swallows its cancellation is left
        behind, too."""
        if self._declared(request).own:
            return await aguarded(execute(request))
        seconds = self._seconds(self.env.tool_timeout)
        task = asyncio.ensure_future(aguarded(execute(request)))
        try:
            done, _ = await asyncio.wait({task}, timeout=seconds)
        finally:
            if not task.done():
                task.cancel()
                await asyncio.wait({task}, timeout=GRACE)
        return task.result() if done else self._left_behind(request, seconds)

    def _seconds(self, most: float) -> float:
        return seconds_left(self.run, self.limits, most)

    def _left_behind(self, request: ToolCallRequest, seconds: float) -> dict[str, object]:
        name = request.tool_call["name"]
        self.warnings.append(f"{name} did not return within {seconds:g} s; {STILL_RUNNING}")
        return failed(
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
            self._look(own=True)
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

    def _look(self, *, own: bool) -> None:
        """Look at the workspace. What has changed since it was left was this run's, if `own`."""
        now = self.env.files_now() or self.files
        if not own:
            self._found(now)
        self.files = self.left = now

    def _found(self, now: str | None) -> None:
        """The workspace was found so before a call: what has changed was somebody else's."""
        gaps = [*self.outside, *gap(self.env, self.left, now or self.left)]
        self.outside = fewer(gaps, self.run.get("outside_at_start", 0))
        self.left = now or self.left


def _message(request: ToolCallRequest, ref: Any) -> ToolMessage:
    return ToolMessage(
        "",
        name=request.tool_call["name"],
        tool_call_id=request.tool_call["id"],
        status=ref["status"],
        artifact={**ref},
    )


def _not_run(request: ToolCallRequest) -> ToolMessage:
    failure = ToolFailure(
        "not_run",
        "another run was changing files in this workspace all the time, and is not done yet",
        "go on with what changes no file, then call again",
    )
    return unrecorded(request.tool_call, failure.as_result(), code=failure.code)
