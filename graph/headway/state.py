"""What must survive a checkpoint: messages, the outcome, and private plain data (`hw_…`)."""

from typing import Annotated, Any, Final, Literal

from langchain_core.messages import AnyMessage
from langgraph.channels.delta import DeltaChannel
from langgraph.managed import RemainingSteps
from typing_extensions import TypedDict

from headway.messages import merge
from headway.status import LimitKind, Status

SCHEMA_VERSION: Final = 1
"""Of the state below; a thread written by a newer headway is refused."""

SNAPSHOT_EVERY: Final = 2000
"""Updates of the messages channel between full copies: the thread grows linearly (measured:
2000 gives 10 times the bytes for 10 times the rounds, the default of 100 gives 13)."""

MIN_REMAINING: Final = 8
"""Supersteps that a full round and its end need; below it the run goes to finish. Recompute it
when a node is added (a test runs every outer limit)."""

MIN_TO_JUDGE: Final = 3
"""Supersteps that the agent must see for a reply that verify may leave to finish."""


class Stop(TypedDict, total=False):
    """Why the run must end now. Written by agent, truncate and verify; read by finish."""

    status: Status
    limit: LimitKind | None
    evidence: dict[str, Any]
    missing: str


class Check(TypedDict, total=False):
    """What the caller's check said so far. Written by verify."""

    rounds: int
    flat: int
    """Rounds since the count of failures had its last new minimum."""
    best: dict[str, Any]
    last: dict[str, Any]
    files: str
    """Snapshot of the workspace that `last` is about."""
    left: str
    """Snapshot of what that check left behind (caches, reports)."""


class Run(TypedDict, total=False):
    """Counters of one run, from one human message to the next. Set up by enter."""

    id: str
    """Names the run: a thread has one per human message."""
    seconds: float
    """Time spent in nodes; waiting for a person, and pauses between processes, do not count."""
    model_calls: int
    tool_calls: int
    refused_calls: int
    """Calls that the tool limit left unrun."""
    input_tokens: int
    output_tokens: int
    cached_tokens: int
    reasoning_tokens: int
    estimated: bool
    cost: float | None
    model: str
    reply: dict[str, Any]
    """The newest reply's `{"id", "problem", "finish"}`. Written by agent, read by verify."""
    ask: list[str]
    """Ids of calls that a person must decide about. Written by agent."""
    closing: LimitKind | None
    """Set when the kept last call was made without tools."""
    rejections: dict[str, int]
    """How often verify sent a reply back, by problem."""
    check: Check
    stop: Stop
    began: float
    """Unix time; what changed since in folders that snapshots leave out is found by it."""
    files_at_start: str
    outside_at_start: int
    """How many gaps of `hw_outside` are older than this run."""
    changed: list[str]
    """Files that differ from the start; requests that leave out steps list them. By tools."""
    files_seen: str
    """Snapshot id when progress last looked."""
    task: str
    """Id of the human message that this run answers."""
    structured: Any
    """The answer as data, with `response_format`. Written by verify."""
    warnings: list[str]


class Observation(TypedDict, total=False):
    """A reference to one result in the journal, between tools and truncate. Never the raw text."""

    call: str
    name: str
    status: Literal["success", "error"]
    output: str
    size: int
    lines: int
    sha: str
    problem: str
    text: str
    """Only for results that no journal holds (an answered question, a rejected call)."""
    before: str | None
    after: str | None
    """Snapshots around a changing call."""
    extra: dict[str, Any]
    """A message by a tool that is no answer (an image), as plain data."""


class Gap(TypedDict):
    """Somebody else changed the workspace: snapshots of how headway left and how it found it."""

    left: str
    found: str


class State(TypedDict, total=False):
    messages: Annotated[list[AnyMessage], DeltaChannel(merge, snapshot_frequency=SNAPSHOT_EVERY)]
    """Append-only; exactly what the model saw. Observations enter by truncate only."""
    outcome: dict[str, Any]
    """`headway.Outcome` without its steps. Written by verify and finish."""
    hw_schema: int
    hw_run: Run
    hw_observations: list[Observation]
    """Written by tools, emptied by truncate."""
    hw_decisions: dict[str, Any]
    """A person's decisions by call id. Written by approve, emptied by truncate."""
    hw_progress: dict[str, Any]
    """The detector's bounded memory. Written by progress, cleared by enter."""
    hw_verdict: dict[str, Any]
    """What progress decided. Read and emptied by truncate."""
    hw_window: dict[str, Any]
    """What requests shorten. Written by agent."""
    hw_files: str
    """Snapshot of the workspace after the newest changing call. Written by enter and tools."""
    hw_outside: list[Gap]
    """The oldest first. Written by enter, tools and verify."""
    hw_branch: str
    """The branch whose folder this state's files stand in; "" is the workspace itself."""
    hw_remaining: RemainingSteps


class Counted(TypedDict, total=False):
    """The counters alone. The edge behind truncate reads no more, so that LangGraph does not fold
    the history once more for it."""

    hw_run: Run


class InputState(TypedDict):
    messages: Annotated[list[AnyMessage], DeltaChannel(merge, snapshot_frequency=SNAPSHOT_EVERY)]


class OutputState(TypedDict):
    messages: Annotated[list[AnyMessage], DeltaChannel(merge, snapshot_frequency=SNAPSHOT_EVERY)]
    outcome: dict[str, Any]
