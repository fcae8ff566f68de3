"""Plays a row: a real server, a real graph, real tools, in one of eight ways."""

import asyncio
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any

from langchain_core.messages import HumanMessage
from langgraph.checkpoint.memory import InMemorySaver

from headway import Outcome, astream_agent, build_agent, stream_agent, workspace_tools
from headway.run import Control
from headway.steps import trace
from headway.trace import StepTrace
from openai_server import OpenAIServer
from reliability.scenario import QUICK, Played, Row, note


@dataclass(frozen=True)
class Way:
    """How a row is played."""

    asynchronous: bool
    streamed: bool
    sqlite: bool

    def __str__(self) -> str:
        return " ".join(
            (
                "async" if self.asynchronous else "sync",
                "stream" if self.streamed else "whole",
                "sqlite" if self.sqlite else "memory",
            )
        )


WAYS = [Way(*way) for way in product((False, True), repeat=3)]

PAIRS = [way for way in WAYS if way.asynchronous ^ way.streamed ^ way.sqlite]
"""Four ways that hold every pair of two columns' values."""


def play(row: Row, way: Way, workspace: Path) -> None:
    """Play `row` and hold it against its expectations."""
    with OpenAIServer(row.script, strict=row.strict) as server:
        options = _options(row, way, workspace, server)
        try:
            played = _run(row, way, server, "Do it.", options)
        except BaseException as error:
            if row.raises is None or not isinstance(error, row.raises):
                raise
        else:
            assert row.raises is None, f"{row.raises} was expected"
            _judge(row, played, workspace)
        if row.then is not None:
            _go_on(row, way, server, options)
        assert server.refused == [], server.requests[-1].messages
        assert {r.streamed for r in server.requests} <= {way.streamed}


def _options(row: Row, way: Way, workspace: Path, server: OpenAIServer) -> dict[str, Any]:
    given = dict(row.options)
    arguments = {"disable_streaming": not way.streamed, **given.pop("model_args", {})}
    saved = {} if way.sqlite else {"memory": True, "checkpointer": InMemorySaver()}
    return {
        "model": row.model,
        "base_url": server.url,
        "api_key": "sk-test",
        "model_args": arguments,
        "workspace": workspace,
        "tools": (*workspace_tools(), note, *row.tools),
        "retries": QUICK,
        "thread_id": "row",
        **saved,
        **given,
    }


def _run(
    row: Row, way: Way, server: OpenAIServer, task: str | None, options: dict[str, Any]
) -> Played:
    if row.parent is not None:
        return _embedded(row, way, server, options)
    events = _events(way, task, options, row.stop_at if task else None)
    outcome = Outcome.model_validate(events[-1]["outcome"])
    return Played(outcome, _told(outcome.steps), events, server)


def _events(
    way: Way, task: str | None, options: dict[str, Any], stop_at: str | None
) -> list[dict[str, Any]]:
    if not way.asynchronous:
        return list(stream_agent(task, **options))
    control = Control()

    async def collect() -> list[dict[str, Any]]:
        events: list[dict[str, Any]] = []
        async for event in astream_agent(task, control=control, **options):
            events.append(event)
            if event["type"] == stop_at:
                control.stop()
        return events

    return asyncio.run(collect())


def _embedded(row: Row, way: Way, server: OpenAIServer, options: dict[str, Any]) -> Played:
    """The agent as a node of the row's own graph."""
    for name in ("thread_id", "checkpointer"):
        options.pop(name, None)
    assert row.parent is not None
    graph = row.parent(build_agent(options.pop("model"), **options))
    values = _values(graph, way)
    if not values.get("outcome"):
        values["outcome"] = {"status": "completed"}
    outcome = Outcome.model_validate(values["outcome"])
    told = _told(trace(values["messages"]))
    return Played(outcome, told, [], server, values)


def _values(graph: Any, way: Way) -> dict[str, Any]:
    """The last state of a run of `graph`."""
    given = {"messages": [HumanMessage("Do it.")]}
    modes = ["messages", "values"] if way.streamed else ["values"]
    config = {"configurable": {"thread_id": "row"}}

    async def collect() -> list[Any]:
        parts = graph.astream(given, config, stream_mode=modes)
        return [value async for mode, value in parts if mode == "values"]

    if way.asynchronous:
        return dict(asyncio.run(collect())[-1])
    parts = graph.stream(given, config, stream_mode=modes)
    return dict([value for mode, value in parts if mode == "values"][-1])


def _told(steps: list[StepTrace]) -> list[str]:
    return [_code(step.observation) for step in steps if step.tool_call is not None]


def _code(observation: str | None) -> str:
    """The error's code of an observation, or `ok`; of a call without one, `open`."""
    if observation is None:
        return "open"
    try:
        value = json.JSONDecoder().raw_decode(observation)[0]
    except ValueError:
        first = observation.split(":")[0]
        return first if first in ("interrupted", "not_run") else "ok"
    if isinstance(value, dict):
        return "timeout" if value.get("timed_out") else str(value.get("error", "ok"))
    return "ok"


def _judge(row: Row, played: Played, workspace: Path) -> None:
    outcome = played.outcome
    hidden = {"steps", "limits", "workspace"}
    seen = f"{outcome.model_dump(exclude=hidden, exclude_defaults=True)}\n{played.told}"
    assert (outcome.status, outcome.limit) == (row.status, row.limit), seen
    assert row.answer is None or outcome.answer == row.answer, seen
    log = workspace / "log"
    assert (log.read_text().splitlines() if log.exists() else []) == list(row.ran), seen
    assert row.told is None or played.told == list(row.told), seen
    assert len(played.server.requests) in _asked(row, played), seen
    if row.evidence is not None:
        facts = outcome.evidence or {}
        assert row.evidence in (facts.get("kind"), facts.get("rule"), facts.get("problem")), seen
    assert row.warns is None or any(row.warns in text for text in outcome.warnings), seen
    assert row.also is None or row.also(played), seen
    assert outcome.status == "completed" or (outcome.missing and outcome.next_step), seen


def _asked(row: Row, played: Played) -> Sequence[int]:
    """How many requests may have reached the server."""
    if row.requests is not None:
        return [row.requests]
    if callable(row.script):
        return range(1, max(len(played.outcome.steps), len(played.told)) + 3)
    return range(1, len(row.script)) if row.then is not None else [len(row.script)]


def _go_on(row: Row, way: Way, server: OpenAIServer, options: dict[str, Any]) -> None:
    assert row.then is not None
    changed = {**options, **row.then.options}
    played = _run(row, way, server, row.then.message, changed)
    assert played.outcome.status == row.then.status, played.outcome
    assert row.then.told is None or played.told == list(row.then.told), played.told


def ways_of(row: Row) -> list[Way]:
    """The ways in which a row can be played."""
    return [
        way
        for way in WAYS
        if (way.asynchronous or row.stop_at is None)
        and (way.sqlite or not row.saved)
        and (row.raises is None or not way.asynchronous)
    ]


def sampled(rows: list[tuple[str, Row]]) -> Iterator[tuple[str, Row, Way, bool]]:
    """(label, row, way, whether it belongs to the fast suite): each row in one of `PAIRS`, in
    turn; all of them meet every item of four rows, and every pair of ways every section."""
    for at, (label, row) in enumerate(rows):
        ways = ways_of(row)
        pairs = [way for way in PAIRS if way in ways]
        for way in ways:
            yield label, row, way, way == pairs[at % len(pairs)]
