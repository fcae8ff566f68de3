"""Peers' own code over recorded runs: run by an interpreter that has their packages.

stdin: one JSON list of steps a line. stdout: one JSON object a line, peer → step of the first
alarm or null. Peers: openhands-sdk, unwedge (without a model), able-harness-kit (two guards).
"""

import importlib.util
import json
import logging
import sys
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

Steps = list[dict[str, Any]]
Peer = Callable[[Steps], int | None]


def openhands(steps: Steps) -> int | None:
    """`StuckDetector.is_stuck` after each step, on events that carry what it compares."""
    from openhands.sdk.conversation.stuck_detector import StuckDetector
    from openhands.sdk.conversation.types import StuckDetectionThresholds
    from openhands.sdk.event import ActionEvent, AgentErrorEvent, MessageEvent, ObservationEvent

    events: list[Any] = []
    state = SimpleNamespace(active_branch=lambda limit: events[-limit:])
    detector = StuckDetector(state, StuckDetectionThresholds())  # type: ignore[arg-type]
    for index, step in enumerate(steps):
        tool, observation = step["tool"], step["observation"]
        if tool == "respond":
            message = json.dumps(step["args"])
            events.append(MessageEvent.model_construct(source="agent", llm_message=message))
            if step.get("user"):
                events.append(MessageEvent.model_construct(source="user", llm_message=observation))
        else:
            thought, action = step["thought"], json.dumps(step["args"], sort_keys=True)
            events.append(
                ActionEvent.model_construct(
                    source="agent", thought=thought, action=action, tool_name=tool
                )
            )
            if step.get("error"):
                events.append(
                    AgentErrorEvent.model_construct(
                        source="agent", error=observation, tool_name=tool
                    )
                )
            else:
                events.append(
                    ObservationEvent.model_construct(
                        source="environment", observation=observation, tool_name=tool
                    )
                )
        if detector.is_stuck():
            return index
    return None


def unwedge(steps: Steps) -> int | None:
    """`Guard.on_turn` in its code-only tier: the first hint or escalation."""
    from unwedge.adapters.generic import turn_from_command
    from unwedge.guard import Guard
    from unwedge.policy import Action

    guard = Guard(goal="", provider=None)
    for index, step in enumerate(steps):
        values = [str(value) for value in step["args"].values()]
        command = values[0] if step["tool"] == "execute" else " ".join([step["tool"], *values])
        turn = turn_from_command(index + 1, command, step["observation"], failed=step.get("error"))
        if guard.on_turn(turn).decision.action is not Action.CONTINUE:
            return index
    return None


def able_progress(steps: Steps) -> int | None:
    """`ProgressAwareLoopGuardMiddleware`: the first result that it replaces."""
    from able_harness_kit import ProgressAwareLoopGuardMiddleware
    from langchain_core.messages import ToolMessage

    guard = ProgressAwareLoopGuardMiddleware()
    for index, step in enumerate(steps):
        call = {"name": step["tool"], "args": step["args"], "id": str(index)}
        result = ToolMessage(
            content=step["observation"], name=step["tool"], tool_call_id=call["id"]
        )
        request: Any = SimpleNamespace(tool_call=call)
        if guard.wrap_tool_call(request, lambda _, result=result: result) is not result:
            return index
    return None


def same_calls(steps: Steps) -> int | None:
    """`LoopTracker` of able-harness-kit at 3 equal calls in a row: the field's usual rule."""
    from able_harness_kit.loop_guard import LoopAction, LoopTracker

    tracker = LoopTracker(warn_at=3, stop_at=5)
    for index, step in enumerate(steps):
        if tracker.observe(step["tool"], step["args"]).action is not LoopAction.NONE:
            return index
    return None


PEERS: dict[str, tuple[str, Peer]] = {
    "OpenHands": ("openhands", openhands),
    "unwedge": ("unwedge", unwedge),
    "able progress": ("able_harness_kit", able_progress),
    "3 same calls": ("able_harness_kit", same_calls),
}


def main() -> None:
    logging.disable(logging.CRITICAL)
    there = {n: p for n, (module, p) in PEERS.items() if importlib.util.find_spec(module)}
    for line in sys.stdin:
        steps = json.loads(line)
        alarms = {name: peer(steps) for name, peer in there.items()}
        sys.stdout.write(json.dumps(alarms) + "\n")


if __name__ == "__main__":
    main()
