"""What a run returns: a status and facts from the tool log, never the model's word for them."""

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from headway.status import LimitKind, Status
from headway.trace import StepTrace

OUTCOME_VERSION = 1


class Usage(BaseModel):
    """Spent since the last human message. Cached tokens are part of input, reasoning of output."""

    model_config = ConfigDict(frozen=True)

    model_calls: int = 0
    tool_calls: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cached_tokens: int = 0
    reasoning_tokens: int = 0
    estimated: bool = False
    """True where a server reported no usage and tokens were estimated."""
    cost: float | None = None
    """US dollars; None = the price is not known."""
    seconds: float = 0.0


class FileChange(BaseModel):
    """One path that differs between the start of the run and its end."""

    model_config = ConfigDict(frozen=True)

    path: str
    kind: Literal["added", "changed", "deleted", "mode", "links"]
    runs_by_itself: bool = False
    """A file that tools execute unasked (conftest.py, .envrc, package scripts, …)."""


class CommandRun(BaseModel):
    """One shell command and its exit code (None: it never ended by itself)."""

    model_config = ConfigDict(frozen=True)

    command: str
    exit_code: int | None
    timed_out: bool = False
    why: str = ""
    """Why it did not end by itself."""
    before_last_change: bool = False
    """True where files differ now from what they were when it ended."""


class CheckReport(BaseModel):
    """The caller's check, run by headway outside the model's reach."""

    model_config = ConfigDict(frozen=True)

    passed: bool
    command: str = ""
    exit_code: int | None = None
    count: int | None = None
    """Failures counted in its output, where a known test runner printed them."""
    output: str = ""
    rests_on: list[str] = Field(default_factory=list)
    """Files changed in this run without which a green check is not green: it proves nothing."""


class Outcome(BaseModel):
    """The end of a run. `outcome` in graph state is this as a plain dict without `steps`."""

    model_config = ConfigDict(frozen=True)

    version: int = OUTCOME_VERSION
    status: Status
    limit: LimitKind | None = None
    answer: str = ""
    """The accepted answer, or for other statuses the partial result as the model wrote it."""
    verified: bool | None = None
    """True: the caller's check passed. False: it is red. None: there was no check, or it proves
    nothing (`check.rests_on`)."""
    structured: Any = None
    """The answer as data, with `response_format`."""
    thread: str | None = None
    """In a larger graph the parent's."""
    checkpoint: str | None = None
    """Of the end. None where a server or a parent saves it, which it does only then."""
    workspace: str | None = None
    usage: Usage = Usage()
    limits: dict[str, float | int | None] = Field(default_factory=dict)
    files: list[FileChange] = Field(default_factory=list)
    commands: list[CommandRun] = Field(default_factory=list)
    check: CheckReport | None = None
    established: list[str] = Field(default_factory=list)
    """Facts from the tool log, one sentence each."""
    missing: str = ""
    next_step: str = ""
    """How to go on from here."""
    evidence: dict[str, Any] | None = None
    """What the progress detector saw, for `no_progress`; the error's facts for `model_error`."""
    best: dict[str, Any] | None = None
    """The best state so far by its checkpoint: `{"checkpoint", "count"}`."""
    pending: list[dict[str, Any]] = Field(default_factory=list)
    """Questions and approvals that wait, for `needs_approval`."""
    warnings: list[str] = Field(default_factory=list)
    steps: list[StepTrace] = Field(default_factory=list)
