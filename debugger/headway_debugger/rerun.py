"""A thread of the data folder once more: recorded (free, nothing runs), or live on a branch."""

import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Any, Final

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command, StateSnapshot

from headway.build import build_agent, workspace_tools
from headway.history import open_calls
from headway.limits import Limits
from headway.outcome import CheckReport
from headway.threads import stored_options
from headway_debugger.branching import fork_thread
from headway_debugger.parts import Part, parts_of, said_at
from headway_debugger.replay import (
    Divergence,
    Recording,
    RecordingEnds,
    first_divergence,
    recorded_model,
    recorded_tools,
)
from headway_debugger.threads import Thread
from headway_debugger.tree import TreeNode
from headway_tools.errors import HeadwayError
from headway_tools.storage import FolderStorage

_REPLAYED: Final = (
    "limits", "instructions", "thoughts", "ask", "allow", "interactive", "progress"
)  # fmt: skip
"""Options that what is said depends on."""

_RED: Final = re.compile(
    r"You said that you are done, but the check `(?P<command>.*)` is red "
    r"\((?:was ended|exit code (?P<code>-?\d+))(?:, (?P<count>\d+) failures)?\):\n(?P<output>.*)",
    re.DOTALL,
)


def replay_recorded(thread: Thread, node: TreeNode) -> Divergence | None:
    """The first message before `node` that today's prompts, tools and graph do not make again.

    Replies, results and a person's answers are the recorded ones: no model call, no side effect.
    Each part of the thread ends where it ended then, with its limits of then. Notes about changes
    of the workspace from outside are the world's, and left out.
    """
    recorded = said_at(thread, node)
    journal = FolderStorage(thread.home).journal(thread.id)
    saver, replayed = InMemorySaver(), list[BaseMessage]()
    try:
        for part in parts_of(thread, node):
            options = _options(thread, node, recorded, part.limits)
            replayed = _again(part, Recording(part.messages, journal.read), saver, options)
    finally:
        journal.close()
    return first_divergence(recorded, replayed)


def _again(
    part: Part, recording: Recording, saver: InMemorySaver, options: Mapping[str, Any]
) -> list[BaseMessage]:
    """One part once more, on top of those before it in `saver`; the messages at its end."""
    graph = build_agent(
        recorded_model(recording),
        tools=recorded_tools(workspace_tools(interactive=options["interactive"]), recording),
        checkpointer=saver,
        **options,
    )
    address: Any = {"configurable": {"thread_id": "replay"}}
    given: Any = {"messages": [HumanMessage(message.content) for message in part.given]}
    with suppress(RecordingEnds):
        while given is not None:
            graph.invoke(given, address)
            given = _answer(graph.get_state(address), recording)
    return list(graph.get_state(address).values["messages"])


def _answer(state: StateSnapshot, recording: Recording) -> Command[Any] | None:
    """What a person then decided about the calls that wait now; None: nothing waits, or nobody
    had decided."""
    if not state.interrupts:
        return None
    asked = state.values["hw_run"].get("ask", [])
    calls = [c for c in open_calls(state.values["messages"]).calls if c["id"] in asked]
    decisions = [recording.decision(call) for call in calls]
    if None in decisions:
        return None
    return Command(resume={state.interrupts[0].id: {"decisions": decisions}})


def replay_live(
    thread: Thread, node: TreeNode, run: Callable[[str, str | None], object]
) -> tuple[str, Divergence | None]:
    """The inputs before `node` again, on a branch from the thread's first step with the files of
    then: the branch's name, and the first message that came otherwise.

    `run(branch, message)` runs the branch, with None from where it stands. Model and tools are
    real.
    """
    recorded = said_at(thread, node)
    first = thread.tree.lineage(node)[0]
    if first.parent is not None:
        raise HeadwayError(f"the first steps of thread {thread.id} were pruned: nothing to repeat")
    branch = fork_thread(thread, first)
    inputs = Recording(recorded).inputs
    for message in (None, *(str(later.text) for later in inputs[1:])):
        run(branch, message)
    now = thread.again()
    return branch, first_divergence(recorded, said_at(now, now.tree.branches[branch].tip))


def _options(
    thread: Thread, node: TreeNode, recorded: Sequence[BaseMessage], limits: Limits | None
) -> dict[str, Any]:
    """The thread's own, but no folder is opened, and the check says what it said."""
    kept = stored_options(thread.record, node.branch)
    had_check = kept.get("check") is not None
    options: dict[str, Any] = {key: kept[key] for key in _REPLAYED if key in kept}
    verify = recorded_check(recorded) if had_check else None
    options.setdefault("interactive", False)
    return {**options, **({"limits": limits} if limits else {}), "memory": True, "verify": verify}


def recorded_check(recorded: Sequence[BaseMessage]) -> Callable[[str, object], CheckReport]:
    """A check that accepts an answer, or rejects it with the report that was recorded."""
    rejections = {
        str(answer.text): report
        for answer, note in zip(recorded, recorded[1:], strict=False)
        if isinstance(answer, AIMessage) and (report := _red_report(str(note.text)))
    }

    def check(answer: str, workspace: object) -> CheckReport:
        return rejections.get(answer, CheckReport(passed=True))

    return check


def _red_report(text: str) -> CheckReport | None:
    """What `headway.check.said_of` made `text` of, None for other words."""
    found = _RED.fullmatch(text)
    if found is None:
        return None
    code, count = found["code"], found["count"]
    return CheckReport(
        passed=False,
        command=found["command"],
        exit_code=int(code) if code else None,
        count=int(count) if count else None,
        output=found["output"],
    )
