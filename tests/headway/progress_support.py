"""Short spellings of rounds, so that a scenario reads as a run."""

import json
from collections.abc import Sequence
from typing import Any

from headway.progress import CallFact, ProgressSettings, Round, Verdict, detect


def read(path: str, text: str) -> CallFact:
    return CallFact("read_file", {"path": path}, json.dumps({"ok": True, "content": text}))


def edit(path: str, old: str, new: str) -> CallFact:
    args = {"path": path, "old": old, "new": new}
    return CallFact("edit", args, json.dumps({"ok": True, "path": path}), kind="write")


def bash(command: str, stdout: str = "", exit_code: int = 0, stderr: str = "") -> CallFact:
    observation = {"ok": True, "exit_code": exit_code, "stdout": stdout, "stderr": stderr}
    return CallFact("bash", {"command": command}, json.dumps(observation), kind="write")


def search(query: str, result: str) -> CallFact:
    return CallFact("search", {"query": query}, result)


def poll(result: str) -> CallFact:
    return CallFact("job_status", {"id": 7}, result, kind="poll")


def failed(name: str, args: dict[str, Any], code: str, message: str) -> CallFact:
    observation = json.dumps({"ok": False, "error": code, "message": message})
    return CallFact(name, args, observation, status="error")


def rejected(name: str, args: dict[str, Any], problem: str) -> CallFact:
    observation = json.dumps({"ok": False, "error": problem, "message": "it could not run"})
    return CallFact(name, args, observation, status="error", kind="write", problem=problem)


def think(text: str) -> CallFact:
    return CallFact("think", {"thought": text}, '{"ok": true}', neutral=True)


def calm(*calls: CallFact) -> Round:
    """A round that left the workspace as it was."""
    return Round(calls, changed=False)


def change(*calls: CallFact) -> Round:
    """A round that changed the workspace."""
    return Round(calls, changed=True)


def blind(*calls: CallFact) -> Round:
    """A round of which nobody knows whether it changed anything."""
    return Round(calls)


SAYS = Round()
"""A reply without a call."""


def verdicts(rounds: Sequence[Round], settings: ProgressSettings | None = None) -> list[Verdict]:
    """The verdict of each round of a run, up to the first stop."""
    memory: dict[str, Any] = {}
    found: list[Verdict] = []
    for each in rounds:
        memory, verdict = detect(memory, each, settings or ProgressSettings())
        found.append(verdict)
        if verdict.level == "stop":
            break
    return found


def levels(rounds: Sequence[Round], settings: ProgressSettings | None = None) -> list[str]:
    return [verdict.level for verdict in verdicts(rounds, settings)]
