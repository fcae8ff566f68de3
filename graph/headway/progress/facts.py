"""What the detector is given and what it says: plain frozen values, no message types."""

from dataclasses import dataclass, field
from typing import Any, Literal

Kind = Literal["read", "write", "poll"]
Level = Literal["go_on", "tell", "stop"]


@dataclass(frozen=True)
class CallFact:
    """One finished tool call.

    `observation` is the bounded text that the model sees; it may be the JSON of a result with
    `ok`, `exit_code`, `stdout`, `stderr` or an `error` code.
    """

    name: str
    args: dict[str, Any]
    observation: str
    status: Literal["success", "error"] = "success"
    kind: Kind = "read"
    neutral: bool = False
    """True for calls that are no action (`think`): they neither prove nor disprove progress."""
    problem: str | None = None
    """Why the call could not run at all: `unknown_tool`, `invalid_arguments`, …"""
    counter: float | None = None
    """An objective count (lower is better) that the tool itself declares."""


@dataclass(frozen=True)
class Round:
    """One reply of the model and everything it called; `calls=()` is a reply without a call."""

    calls: tuple[CallFact, ...] = ()
    thought: str = ""
    counter: float | None = None
    """An objective count of this round, lower is better (the check's failures, a score negated)."""
    counter_source: Literal["declared"] | None = None
    """`declared`: the caller or the tool vouches for the count; None: it was only inferred."""
    changed: bool | None = None
    """Whether the workspace changed in this round; None = nobody knows."""


@dataclass(frozen=True)
class Verdict:
    """What to do now, by which rule, and the evidence as plain JSON data."""

    level: Level = "go_on"
    rule: str = ""
    evidence: dict[str, Any] = field(default_factory=dict)
    advice: str = ""
    """For the model: the evidence quoted and a way out that fits the case; empty on `go_on`."""
