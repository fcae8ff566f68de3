"""Recorded replay: the replies and results of a thread again, free and without side effects.

A graph built with `recorded_model` and `recorded_tools` runs its own nodes only: the same messages
come out unless prompts, tools or the graph changed, and `first_divergence` names where.
"""

import json
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolCall, ToolMessage
from langchain_core.runnables import RunnableConfig
from langchain_core.tools import BaseTool
from pydantic import PrivateAttr

from headway.approvals import ASK_USER
from headway.nodes.finish import ESTABLISHED
from headway.notes import is_human, meta
from headway.reply import RAW_CALLS, READING
from headway.testing import PolicyModel, spoken
from headway_debugger.compare import message_signature
from headway_tools.errors import HeadwayError

ReadOutput = Callable[[str], str | list[Any]]
"""The whole of a result by its id in the journal; `HeadwayError` or `ToolFailure`: expired."""


@dataclass(frozen=True)
class Divergence:
    """The first message that is not as recorded."""

    index: int
    what: str
    """missing, extra, kind, content, calls, status or name."""
    recorded: BaseMessage | None
    replayed: BaseMessage | None

    def __str__(self) -> str:
        """One line: which message, what differs, both sides in short."""
        return (
            f"message {self.index}: {self.what} differs: "
            f"recorded {_short(self.recorded)}, replayed {_short(self.replayed)}"
        )


class RecordingEnds(HeadwayError):
    """A reply or a result is asked that was not recorded."""


class Recording:
    """What a thread's messages record: replies in order, results by call."""

    def __init__(self, messages: Sequence[BaseMessage], read_output: ReadOutput | None = None):
        self.messages = list(messages)
        self._read_output = read_output
        self._replies = _replies(self.messages)
        self._results = {m.tool_call_id: m for m in self.messages if isinstance(m, ToolMessage)}

    @property
    def inputs(self) -> list[HumanMessage]:
        """The messages of a person, each the start of a run."""
        return [m for m in self.messages if isinstance(m, HumanMessage) and is_human(m)]

    def reply(self, request: list[BaseMessage], tools: list[dict[str, Any]]) -> AIMessage:
        """The recorded reply to `request`: chosen by how many replies that holds.

        `RecordingEnds`: the recording ends before.
        """
        said = spoken(request)
        if said >= len(self._replies):
            raise RecordingEnds(
                f"the recording has {len(self._replies)} replies, one more is asked"
            )
        return as_said(self._replies[said])

    def result(self, call_id: str) -> ToolMessage:
        """The recorded result of a call, whole where the journal still has it.

        `RecordingEnds`: the call was not made, or got no result.
        """
        found = self._results.get(call_id)
        if found is None:
            raise RecordingEnds(f"the recording has no result for call {call_id}")
        output = meta(found).get("output")
        if output is None or self._read_output is None:
            return found
        return found.model_copy(update={"content": self._read_output(output)})

    def decision(self, call: ToolCall) -> dict[str, Any] | None:
        """What a person decided about a call, from its result; None: nobody did."""
        result = self._results.get(call["id"] or "")
        said = as_object(str(result.text)) if result is not None else {}
        if result is None or said.get("error") == "not_run":
            return None
        if said.get("error") == "rejected":
            why = str(said.get("message", "")).partition(": ")[2]
            return {"type": "reject", "message": why}
        if call["name"] == ASK_USER:
            return {"type": "respond", "message": said.get("answer", "")}
        return {"type": "approve"}


def as_said(reply: AIMessage) -> AIMessage:
    """A settled reply as the model's adapter handed it over: with the calls that were malformed as
    they were written, and what a reader or a person remarked about it."""
    notes, extra = meta(reply), dict[str, Any]()
    errors = notes.get("call_errors", {})
    if errors:
        extra[RAW_CALLS] = [
            {**call, "args": errors.get(call["id"], {}).get("original", call["args"])}
            for call in reply.tool_calls
        ]
    problem = notes.get("problem") if notes.get("problem") == "format" else None
    if problem or notes.get("remarks"):
        extra[READING] = {"problem": problem, "remarks": list(notes.get("remarks", ()))}
    said = reply.model_copy(deep=True)
    said.additional_kwargs |= extra
    said.tool_calls = [] if errors else said.tool_calls
    return said


def as_object(text: str) -> dict[str, Any]:
    """`text` as a JSON object, empty where it is none."""
    with suppress(ValueError):
        found = json.loads(text)
        if isinstance(found, dict):
            return found
    return {}


def recorded_model(recording: Recording) -> PolicyModel:
    """A chat model that says what was recorded."""
    return PolicyModel(policy=recording.reply)


def recorded_tools(tools: Sequence[BaseTool], recording: Recording) -> list[BaseTool]:
    """`tools` with their names, schemas and declarations, answering what was recorded."""
    return [_RecordedTool.of(tool, recording) for tool in tools]


def first_divergence(
    recorded: Sequence[BaseMessage], replayed: Sequence[BaseMessage]
) -> Divergence | None:
    """The first message that differs in kind, content, calls, status or name; None: all the same.

    Ids, usage and times are not compared, nor what a stopped run says of its files, which no
    replay has.
    """
    for index in range(max(len(recorded), len(replayed))):
        old = recorded[index] if index < len(recorded) else None
        new = replayed[index] if index < len(replayed) else None
        if (what := _difference(old, new)) is not None:
            return Divergence(index, what, old, new)
    return None


class _RecordedTool(BaseTool):
    """Answers each call with its recorded result; nothing runs."""

    _recording: Recording = PrivateAttr()

    @classmethod
    def of(cls, tool: BaseTool, recording: Recording) -> "_RecordedTool":
        made = cls(
            name=tool.name,
            description=tool.description,
            args_schema=tool.args_schema,
            metadata=tool.metadata,
        )
        made._recording = recording
        return made

    def _run(self, *args: Any, **kwargs: Any) -> Any:
        raise HeadwayError("a recorded tool is called by a graph only")

    def invoke(self, input: Any, config: RunnableConfig | None = None, **kwargs: Any) -> Any:
        return self._recording.result(input["id"]).model_copy()

    async def ainvoke(self, input: Any, config: RunnableConfig | None = None, **kwargs: Any) -> Any:
        return self.invoke(input)


def _replies(messages: Sequence[BaseMessage]) -> list[AIMessage]:
    """All replies; an empty one in place of each that history leaves out (see `spoken`)."""
    replies: list[AIMessage] = []
    for index, message in enumerate(messages):
        if isinstance(message, AIMessage):
            replies.append(message)
        elif spoken(messages[: index + 1]) > len(replies):
            replies.append(AIMessage("", response_metadata={"finish_reason": "stop"}))
    return replies


def _difference(old: BaseMessage | None, new: BaseMessage | None) -> str | None:
    if old is None or new is None:
        return "extra" if old is None else "missing"
    parts = ("kind", "content", "calls", "status", "name")
    old, new = _without_files(old), _without_files(new)
    pairs = zip(parts, message_signature(old), message_signature(new), strict=True)
    return next((part for part, a, b in pairs if a != b), None)


def _without_files(message: BaseMessage) -> BaseMessage:
    """A partial result without the list of what was established."""
    if not meta(message).get("partial"):
        return message
    return message.model_copy(update={"content": str(message.text).partition(ESTABLISHED)[0]})


def _short(message: BaseMessage | None) -> str:
    if message is None:
        return "nothing"
    calls = [call["name"] for call in message.tool_calls] if isinstance(message, AIMessage) else []
    text = " ".join(str(message.text).split())
    text = text if len(text) <= 60 else f"{text[:59]}…"
    return " ".join([message.type, *([f"calls {', '.join(calls)}"] if calls else []), repr(text)])
