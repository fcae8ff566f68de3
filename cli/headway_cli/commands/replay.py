"""`headway replay THREAD`: its recorded replies and results through today's prompts and graph."""

import argparse
from collections.abc import Sequence
from typing import Any

from langchain_core.messages import BaseMessage, HumanMessage
from langgraph.checkpoint.memory import InMemorySaver

from headway.build import build_agent, workspace_tools
from headway_cli.output import SCHEMA_VERSION, dumps
from headway_cli.terminal import one_line
from headway_cli.threads import Opened, opened, stored_options
from headway_debugger.replay import (
    Recording,
    first_divergence,
    recorded_model,
    recorded_tools,
)
from headway_tools.journal import SqliteJournal

DIVERGED = 1


def run(args: argparse.Namespace) -> int:
    """Nothing runs and nothing is paid. With --check a divergence is exit code 1."""
    with opened(args.thread) as thread:
        recorded = list(thread.state(thread.node(""))["messages"])
        found = first_divergence(recorded, replayed(thread, recorded))
        name = thread.record.thread
    if args.json:
        said = str(found) if found else None
        print(dumps({"schema_version": SCHEMA_VERSION, "thread": name, "divergence": said}))
    else:
        same = f"{len(recorded)} messages of {name} came out as recorded"
        print(one_line(f"{name} diverged: {found}" if found else same))
    return DIVERGED if found and args.check else 0


def replayed(thread: Opened, recorded: Sequence[BaseMessage]) -> list[BaseMessage]:
    """The messages that today's graph makes of the recording."""
    journal = SqliteJournal(thread.folder.journal)
    try:
        recording = Recording(recorded, journal.read)
        graph = build_agent(
            recorded_model(recording),
            tools=recorded_tools(workspace_tools(), recording),
            checkpointer=InMemorySaver(),
            **_options(thread, recorded),
        )
        address: Any = {"configurable": {"thread_id": "replay"}}
        state: dict[str, Any] = {"messages": []}
        for message in recording.inputs:
            state = graph.invoke({"messages": [HumanMessage(message.content)]}, address)
        return list(state["messages"])
    finally:
        journal.close()


def _options(thread: Opened, recorded: Sequence[BaseMessage]) -> dict[str, Any]:
    """The thread's own, but nothing is asked, no folder is opened, and the check says what it
    said."""
    kept = stored_options(thread.record)
    had_check = kept.pop("check", None) is not None
    options: dict[str, Any] = {
        key: kept[key] for key in ("limits", "instructions", "thoughts") if key in kept
    }
    return {
        **options,
        "memory": True,
        "verify": recorded_check(recorded) if had_check else None,
    }


def recorded_check(recorded: Sequence[BaseMessage]) -> Any:
    """A check that accepts an answer, or rejects it with the words that were recorded."""
    rejections = {
        str(answer.text): str(note.text)
        for answer, note in zip(recorded, recorded[1:], strict=False)
        if answer.type == "ai" and note.type == "human" and note.name == "headway"
    }

    def check(answer: str, workspace: object) -> str | bool:
        return rejections.get(answer, True)

    return check
