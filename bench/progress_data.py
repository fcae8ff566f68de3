"""Recorded runs as the detector's rounds: the form of DATA_DIR is in its README.

Files: dev.jsonl (labelled runs), probes.jsonl (hand-made shapes), local.jsonl (unlabelled).
"""

import hashlib
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from headway.progress import CallFact, Kind, ProgressSettings, Round, detect

_WRITES = re.compile(r"(?i)^(edit|write|create|update|cancel|book|send|delete|insert|apply)")
_POLLS = re.compile(r"(?i)^(sleep|wait|poll|continue_wait)")
_TALKS = ("respond", "say", "message")


@dataclass(frozen=True)
class Run:
    """One recorded run: its class, where it began to be stuck (None: never), its steps."""

    source: str
    name: str
    task: str
    klass: str
    onset: int | None
    steps: list[dict[str, Any]]

    @property
    def half(self) -> str:
        """`tune` or `held`: by task, so that no task is in both."""
        task = f"{self.source} {self.task}".encode()
        return ("tune", "held")[hashlib.sha256(task).digest()[0] % 2]


@dataclass(frozen=True)
class Replay:
    """Where the detector spoke: steps from 0, None = never; the verdicts' data beside."""

    tell: int | None = None
    stop: int | None = None
    rules: tuple[str, ...] = ()
    evidence: tuple[dict[str, Any], ...] = ()


def read_runs(path: Path) -> list[Run]:
    """All runs of one file; an absent file is an empty list."""
    if not path.exists():
        return []
    rows = (json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line)
    return [
        Run(
            row["source"],
            str(row["id"]),
            row["task"],
            row.get("klass") or row["outcome"],
            row.get("onset"),
            row["steps"],
        )
        for row in rows
    ]


def rounds(run: Run, with_reward: bool = False) -> Iterator[tuple[Round, bool]]:
    """Each step as a round, and whether a person answered in it (which starts afresh)."""
    for step in run.steps:
        reward = step.get("reward")
        counter = -float(reward) if with_reward and reward is not None else None
        talks = step["tool"].lower() in _TALKS and not step["observation"]
        calls = () if talks else (_call(step),)
        yield Round(calls, step["thought"], counter), bool(step.get("user"))


def _call(step: dict[str, Any]) -> CallFact:
    name, observation = step["tool"], step["observation"]
    failed = step.get("error") or re.match(r"(?i)error\b", observation)
    kind: Kind = "write" if _WRITES.match(name) else "poll" if _POLLS.match(name) else "read"
    return CallFact(
        name=name,
        args=step["args"],
        observation=observation,
        status="error" if failed else "success",
        kind=kind,
        neutral=name == "think",
        problem=None if name else "malformed",
    )


def replay(run: Run, settings: ProgressSettings, with_reward: bool = False) -> Replay:
    """Run the detector over one recording; a stop comes only after a nudge that was ignored."""
    memory: dict[str, Any] = {}
    tell = stop = None
    rules: list[str] = []
    found: list[dict[str, Any]] = []
    for index, (round_, user) in enumerate(rounds(run, with_reward)):
        memory, verdict = detect(memory, round_, settings)
        if verdict.level != "go_on":
            rules.append(f"{verdict.level}@{index}:{verdict.rule}")
            found.append(verdict.evidence)
        if verdict.level == "tell" and tell is None:
            tell = index
        if verdict.level == "stop":
            stop = index
            break
        memory = {} if user else memory
    return Replay(tell, stop, tuple(rules), tuple(found))
