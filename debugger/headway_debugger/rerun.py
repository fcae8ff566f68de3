"""A thread of the data folder once more: recorded (free, nothing runs), or live on a branch."""

import re
from collections.abc import Callable, Sequence
from typing import Any, Final

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage
from langgraph.checkpoint.memory import InMemorySaver

from headway.build import build_agent, workspace_tools
from headway.outcome import CheckReport
from headway.threads import stored_options
from headway_debugger.branching import fork_thread
from headway_debugger.replay import (
    Divergence,
    Recording,
    first_divergence,
    recorded_model,
    recorded_tools,
)
from headway_debugger.threads import Thread
from headway_debugger.tree import TreeNode
from headway_tools.errors import HeadwayError
from headway_tools.storage import FolderStorage

_RED: Final = re.compile(
    r"You said that you are done, but the check `(?P<command>.*)` is red "
    r"\((?:was ended|exit code (?P<code>-?\d+))(?:, (?P<count>\d+) failures)?\):\n(?P<output>.*)",
    re.DOTALL,
)


def replay_recorded(thread: Thread, node: TreeNode) -> Divergence | None:
    """The first message before `node` that today's prompts, tools and graph do not make again.

    Replies and results are the recorded ones: no model call, no side effect.
    """
    recorded = messages_at(thread, node)
    journal = FolderStorage(thread.home).journal(thread.id)
    try:
        recording = Recording(recorded, journal.read)
        graph = build_agent(
            recorded_model(recording),
            tools=recorded_tools(workspace_tools(), recording),
            checkpointer=InMemorySaver(),
            **_options(thread, node, recorded),
        )
        address: Any = {"configurable": {"thread_id": "replay"}}
        state: dict[str, Any] = {"messages": []}
        for message in recording.inputs:
            state = graph.invoke({"messages": [HumanMessage(message.content)]}, address)
        return first_divergence(recorded, list(state["messages"]))
    finally:
        journal.close()


def replay_live(
    thread: Thread, node: TreeNode, run: Callable[[str, str | None], object]
) -> tuple[str, Divergence | None]:
    """The inputs before `node` again, on a branch from the thread's first step with the files of
    then: the branch's name, and the first message that came otherwise.

    `run(branch, message)` runs the branch, with None from where it stands. Model and tools are
    real.
    """
    recorded = messages_at(thread, node)
    first = thread.tree.lineage(node)[0]
    if first.parent is not None:
        raise HeadwayError(f"the first steps of thread {thread.id} were pruned: nothing to repeat")
    branch = fork_thread(thread, first)
    inputs = Recording(recorded).inputs
    for message in (None, *(str(later.text) for later in inputs[1:])):
        run(branch, message)
    now = thread.again()
    return branch, first_divergence(recorded, messages_at(now, now.tree.branches[branch].tip))


def messages_at(thread: Thread, node: TreeNode) -> list[BaseMessage]:
    """The history at a step."""
    return list(thread.state(node).get("messages") or [])


def _options(thread: Thread, node: TreeNode, recorded: Sequence[BaseMessage]) -> dict[str, Any]:
    """The thread's own, but nothing is asked, no folder is opened, and the check says what it
    said."""
    kept = stored_options(thread.record, node.branch)
    had_check = kept.pop("check", None) is not None
    options: dict[str, Any] = {
        key: kept[key] for key in ("limits", "instructions", "thoughts") if key in kept
    }
    return {
        **options,
        "memory": True,
        "verify": recorded_check(recorded) if had_check else None,
    }


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
