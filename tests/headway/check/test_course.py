"""The check in the course of a run: counts, the best state, limits, long output, cancels."""

import asyncio
import re
from pathlib import Path
from typing import Any

from check_support import claims, run, tree
from langchain_core.messages import AIMessage, BaseMessage, ToolCall
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.memory import InMemorySaver

from headway import Limits, build_agent
from headway.build import make_parts
from headway.progress import ProgressSettings
from headway.run import Control, astream_agent
from headway.testing import PolicyModel
from policies import bash, replies


def test_counts_that_fall_go_on_and_two_flat_rounds_end(tmp_path: Path) -> None:
    lines = "\n".join(f"need {n}" for n in range(5)) + "\n"
    root = tree(tmp_path / "w", {"todo": lines})
    check = 'n=$(wc -l < todo); echo "$n errors"; test $n -eq 0'
    drop = bash("sed -i 1d todo")
    model = replies(drop, "done", bash("sed -i 1d todo", "c2"), "done", "done", "done")
    saver = InMemorySaver()
    result = run(root, model, check, checkpointer=saver, progress=ProgressSettings())
    assert (result.status, result.usage.model_calls) == ("check_failed", 6)
    assert result.evidence == {"rule": "counter", "times": 2, "counter": [4.0, 3.0, 3.0, 3.0]}
    assert result.best
    assert result.best["count"] == 3
    assert (root / "todo").read_text().count("\n") == 3


def test_the_best_state_is_the_checkpoint_that_holds_its_files(tmp_path: Path) -> None:
    root = tree(tmp_path / "w", {"todo": "a\nb\nc\n"})
    check = 'n=$(wc -l < todo); echo "$n errors"; test $n -eq 0'
    model = replies(bash("sed -i 1d todo"), "done", bash("seq 9 > todo", "c2"), "done", "done")
    saver = InMemorySaver()
    result = run(root, model, check, checkpointer=saver, thread_id="t")
    assert result.status == "check_failed"
    assert result.best
    agent = build_agent(replies("x"), checkpointer=saver, workspace=root)
    config: RunnableConfig = {
        "configurable": {"thread_id": "t", "checkpoint_id": result.best["checkpoint"]}
    }
    state = agent.get_state(config)
    assert state.next == ("verify",)
    parts = make_parts(replies("x"), tools=None, name="headway", options={"workspace": root})
    env = parts.environments.get("t")
    assert env.snapshots
    assert env.snapshots.read(state.values["hw_files"], "todo") == b"b\nc\n"
    parts.environments.close()


def test_a_limit_stays_a_limit_though_the_check_is_red(project: Path) -> None:
    result = run(project, claims(bash("true")), limits=Limits(model_calls=2))
    assert (result.status, result.limit, result.verified) == ("limit", "model_calls", False)
    assert result.best


def test_a_check_that_hangs_or_floods_is_red(project: Path) -> None:
    slow = run(project, replies("done"), "sleep 60", limits=Limits(seconds=1))
    assert (slow.status, slow.limit, slow.verified) == ("limit", "seconds", False)
    loud = run(project, replies("done"), "head -c 70000000 /dev/zero | tr '\\0' x")
    assert (loud.status, loud.verified) == ("check_failed", False)
    assert loud.check
    assert len(loud.check.output) < 10_000
    assert "printed too much" in loud.check.output


def test_a_long_output_is_small_in_every_checkpoint_and_can_be_read_whole(tmp_path: Path) -> None:
    root = tree(tmp_path / "w", {"todo": "x"})
    check = "seq -f 'line %g of the check' 2000; test ! -e todo"
    heard: list[str] = []

    def policy(messages: list[BaseMessage], tools: list[dict[str, Any]]) -> AIMessage:
        heard.append(str(messages[-1].text))
        if len(heard) == 2:
            found = re.search(r'read_output\(id="(o-[0-9a-f]+)"', heard[-1])
            args = {"id": found[1] if found else "", "text": "line 1000 of"}
            page = ToolCall(name="read_output", args=args, id="p", type="tool_call")
            return AIMessage("", tool_calls=[page, bash("rm todo", "r")])
        return AIMessage("done")

    saver = InMemorySaver()
    result = run(
        root,
        PolicyModel(policy=policy),
        check,
        checkpointer=saver,
        thread_id="t",
        progress=ProgressSettings(),
    )
    assert (result.status, result.verified) == ("completed", True)
    assert "line 1 of the check" in heard[1]
    assert "line 2000 of the check" in heard[1]
    assert result.check
    assert len(result.check.output) <= 2_000
    agent = build_agent(PolicyModel(policy=policy), checkpointer=saver, workspace=root)
    config: RunnableConfig = {"configurable": {"thread_id": "t"}}
    answers = [m for m in agent.get_state(config).values["messages"] if m.type == "tool"]
    assert "line 1000 of the check" in answers[0].text
    kept = [
        len(found["last"]["output"])
        for snapshot in agent.get_state_history(config)
        if (found := snapshot.values.get("hw_run", {}).get("check"))
    ]
    assert kept
    assert max(kept) <= 2_000


async def test_cancelling_ends_the_process_of_a_check(project: Path) -> None:
    check = "echo > started; sleep 60; echo > ended"
    control = Control()
    outcome: dict[str, Any] = {}

    async def cancel_when_started() -> None:
        while not (project / "started").exists():  # noqa: ASYNC110 -- another process writes it
            await asyncio.sleep(0.01)
        control.now()

    waiter = asyncio.create_task(cancel_when_started())
    events = astream_agent(
        "x", model=replies("done"), workspace=project, check=check, control=control
    )
    async for event in events:
        outcome = event.get("outcome", {})
    await waiter
    assert outcome["status"] == "cancelled"
    assert not (project / "ended").exists()
