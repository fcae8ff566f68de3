"""tools: the ToolNode of the loop. One superstep; read-only calls of one reply side by side,
changing calls one after another in order; each result is recorded once and leaves as a reference.
"""

import asyncio
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import replace
from itertools import groupby
from typing import Any, Final, cast

from langchain_core.messages import RemoveMessage, ToolCall, ToolMessage, convert_to_messages
from langchain_core.runnables import RunnableConfig
from langchain_core.tools import BaseTool
from langgraph.config import get_config
from langgraph.prebuilt import ToolNode
from langgraph.prebuilt.tool_node import ToolCallRequest
from langgraph.runtime import get_runtime
from langgraph.types import Command

from headway.approvals import ASK_USER
from headway.batch import Batch
from headway.check import files_left
from headway.context import Context
from headway.fence import Check, ahold, hold, lease_of
from headway.guarded import as_failure, unrecorded
from headway.history import open_calls
from headway.masking import masking
from headway.notes import meta
from headway.parts import Parts, Update
from headway.settled import await_saved, wait_until_saved
from headway.spending import seconds_left, tool_calls_left
from headway.state import Observation, Run, State
from headway_tools.env import use_env
from headway_tools.errors import HeadwayError, ToolFailure
from headway_tools.leases import Lease
from headway_tools.results import observation

RUN: Final = ("approve", "edit")

_batch: ContextVar[Batch] = ContextVar("headway_batch")


class Tools(ToolNode):
    """LangGraph's ToolNode with order, record, limits and decisions around it."""

    def __init__(self, parts: Parts) -> None:
        super().__init__(
            [_masking(tool, parts) for tool in parts.tools],
            handle_tool_errors=_as_text,
            wrap_tool_call=_wrap,
            awrap_tool_call=_awrap,
        )
        self._parts = parts

    def invoke(self, input: Any, config: RunnableConfig | None = None, **kwargs: Any) -> Any:
        """Run the open calls of the newest reply."""
        wait_until_saved(get_config())
        with hold(self._lease(input)) as check:
            batch = self._open(input, check)
            groups = plan(input, self._parts, batch)
            with _running(batch):
                outputs = [
                    refused or super(Tools, self).invoke(group, config, **kwargs)
                    for group, refused in groups
                ]
            return _join(outputs, batch, input.get("hw_files", ""))

    async def ainvoke(self, input: Any, config: RunnableConfig | None = None, **kwargs: Any) -> Any:
        """`invoke`, asynchronously; what touches the disk stays off the event loop."""
        await await_saved(get_config())
        async with ahold(self._lease(input)) as check:
            batch = await asyncio.to_thread(self._open, input, check)
            groups = plan(input, self._parts, batch)
            with _running(batch):
                outputs = [
                    refused or await super(Tools, self).ainvoke(group, config, **kwargs)
                    for group, refused in groups
                ]
            return await asyncio.to_thread(_join, outputs, batch, input.get("hw_files", ""))

    def _lease(self, state: State) -> Lease | None:
        return lease_of(self._parts, state, get_runtime(Context))

    def _open(self, state: State, check: Check) -> Batch:
        runtime = get_runtime(Context)
        limits, run = self._parts.limits(runtime), state.get("hw_run", {})
        timeout = seconds_left(run, limits, limits.tool_timeout)
        return Batch(
            env=replace(self._parts.env(state, runtime), tool_timeout=timeout),
            check=check,
            declaration=self._parts.declaration,
            files=state.get("hw_files", ""),
            left=files_left(state),
            outside=list(state.get("hw_outside", [])),
            run=run,
            limits=limits,
            started=time.monotonic(),
        )


@contextmanager
def _running(batch: Batch) -> Iterator[None]:
    token = _batch.set(batch)
    try:
        with use_env(batch.env):
            yield
    finally:
        _batch.reset(token)


def _masking(tool: BaseTool, parts: Parts) -> BaseTool:
    """Our own tools mask what they return themselves."""
    declared = parts.declaration(tool.name)
    ours = declared.own and not declared.isolated
    return tool if ours else masking(tool, parts.environments.mask)


Group = tuple[list[ToolCall], list[ToolMessage] | None]
"""Calls to run together, or with the second part what they are answered instead."""


def plan(state: State, parts: Parts, batch: Batch) -> list[Group]:
    """The open calls in order, as runs of read-only calls, single changing calls, and calls that
    are answered without running. Whatever is not clearly allowed does not run."""
    left = tool_calls_left(batch.run, batch.limits)
    answers: list[tuple[ToolCall, ToolMessage | None]] = []
    for call in open_calls(state["messages"]).calls:
        refused = refuse(call, state, spent=left is not None and batch.allowed >= left)
        answers.append((call, refused))
        if refused is None:
            batch.allowed += 1
        elif refused.additional_kwargs.get("code") == "not_run":
            batch.refused += 1

    def together(item: tuple[ToolCall, ToolMessage | None]) -> str:
        call, refused = item
        if refused is not None:
            return "refused"
        return "read" if parts.declaration(call["name"]).kind != "write" else call["id"] or ""

    groups: list[Group] = []
    for kind, items in groupby(answers, key=together):
        pairs = list(items)
        refusals = [message for _, message in pairs if message is not None]
        groups.append(([call for call, _ in pairs], refusals if kind == "refused" else None))
    return groups


def refuse(call: ToolCall, state: State, *, spent: bool) -> ToolMessage | None:
    """The answer for a call that must not run: malformed, undecided, rejected, over the limit.
    For `ask_user` it is the person's answer."""
    message = open_calls(state["messages"]).message
    bad = meta(message).get("call_errors", {}).get(call["id"]) if message else None
    if bad is not None:
        details = {"original": bad["original"]} if bad.get("original") else {}
        failure = ToolFailure(bad["code"], bad["message"], bad.get("next_step", ""), **details)
        return _answer(call, failure)
    decision = (state.get("hw_decisions") or {}).get(call["id"] or "", {})
    kind = decision.get("type")
    if kind == "respond":
        return unrecorded(call, {"ok": True, "answer": decision.get("message", "")})
    if kind == "reject":
        why = decision.get("message") or "no reason given"
        return _answer(
            call,
            ToolFailure("rejected", f"a person rejected this call: {why}", "do it another way"),
        )
    if (call["id"] in state.get("hw_run", {}).get("ask", []) and kind not in RUN) or call[
        "name"
    ] == ASK_USER:
        return _answer(call, ToolFailure("not_run", "nobody approved this call", "go on without"))
    if spent:
        return _answer(
            call,
            ToolFailure("not_run", "the limit of tool calls is reached", "answer now"),
        )
    return None


def _answer(call: ToolCall, failure: ToolFailure) -> ToolMessage:
    return unrecorded(call, failure.as_result(), code=failure.code)


def _as_text(error: Exception) -> str:
    """Any exception of a tool as an observation; what the user must mend passes."""
    if isinstance(error, HeadwayError):
        raise error
    return observation(as_failure(error).as_result())


def _wrap(request: ToolCallRequest, execute: Callable[[ToolCallRequest], Any]) -> Any:
    return _batch.get().run_call(request, execute)


async def _awrap(request: ToolCallRequest, execute: Callable[[ToolCallRequest], Any]) -> Any:
    return await _batch.get().arun_call(request, execute)


def _join(outputs: Sequence[Any], batch: Batch, files: str) -> Any:
    """One update: references in call order; a hand-off to the parent goes through."""
    observations: list[Observation] = []
    commands: list[Command[Any]] = []
    for output in outputs:
        for item in output if isinstance(output, list) else [output]:
            if isinstance(item, Command) and item.graph == Command.PARENT:
                commands.append(item)
                continue
            update: Any = (item.update or {}) if isinstance(item, Command) else item
            said = [update] if isinstance(update, ToolMessage) else update.get("messages", [])
            observations += [
                _reference(message)
                for message in convert_to_messages(said)
                if not isinstance(message, RemoveMessage)
            ]
    made: Update = {"hw_observations": observations, "hw_run": _counted(batch, files)}
    if batch.files:
        made["hw_files"] = batch.files
    if batch.outside:
        made["hw_outside"] = batch.outside
    return [made, *commands] if commands else made


def _counted(batch: Batch, files: str) -> Run:
    run = batch.run
    changed = run.get("changed", []) if batch.files == files else batch.changed()
    return {
        **run,
        "changed": changed,
        "tool_calls": run.get("tool_calls", 0) + batch.allowed,
        "refused_calls": run.get("refused_calls", 0) + batch.refused,
        "seconds": run.get("seconds", 0.0) + time.monotonic() - batch.started,
        "warnings": list(dict.fromkeys((*run.get("warnings", []), *batch.warnings))),
    }


def _reference(message: Any) -> Observation:
    if not isinstance(message, ToolMessage):
        return {"extra": message.model_dump()}
    if isinstance(message.artifact, dict) and "output" in message.artifact:
        return cast(Observation, message.artifact)
    seen = Observation(
        call=message.tool_call_id,
        name=message.name or "",
        status=message.status,
        text=str(message.text),
    )
    code = message.additional_kwargs.get("code")
    return {**seen, "problem": code} if code else seen
