"""One row of the table: what comes back from the model (or a tool), and how the run must end.

A row needs a name, the replies of the scripted server in order, and what is expected; everything
else has a default. The tools of every run are those of a workspace and `note`, which adds its
line to the file `log`: `ran` are that file's lines.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from langchain_core.tools import BaseTool

from headway.models.retry import RetryPolicy
from headway.outcome import Outcome
from headway.status import LimitKind, Status
from headway_tools.env import current_workspace
from openai_server import Answer, OpenAIServer, Reply, Request, fails, raw_calls, says, wire_call

if TYPE_CHECKING:
    from headway.build import Agent

QUICK = RetryPolicy(attempts=4, timeouts=3, first_wait=0.001)

Tool = BaseTool | Callable[..., Any]


@dataclass
class Played:
    """What came of a row."""

    outcome: Outcome
    told: list[str]
    """What each call was answered: `ok`, the code of its error, or `open`."""
    events: list[dict[str, Any]]
    server: OpenAIServer
    values: dict[str, Any] = field(default_factory=dict)
    """The parent's state, for a row with one."""


@dataclass(frozen=True)
class Then:
    """The thread goes on: with a message, or (None) where it stopped."""

    message: str | None = None
    status: Status = "completed"
    told: Sequence[str] | None = None
    """Of all calls of the run, which a resumed one continues."""
    options: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Row:
    name: str
    script: Sequence[Answer] | Callable[[Request], Reply]
    """The replies in order, or what answers each request."""
    status: Status = "completed"
    limit: LimitKind | None = None
    answer: str | None = None
    """The whole answer; None: not looked at."""
    ran: Sequence[str] = ()
    told: Sequence[str] | None = ()
    """What each call is answered, in order: `ok`, or the code of its error; None: anything."""
    requests: int | None = None
    """Requests that reach the server; None: as many as the script has replies."""
    evidence: str | None = None
    """The kind of failure (`model_error`), or the rule (`no_progress`)."""
    warns: str | None = None
    """Part of a warning of the outcome."""
    tools: Sequence[Tool] = ()
    options: Mapping[str, Any] = field(default_factory=dict)
    model: str = "openai:m"
    strict: bool = True
    raises: type[BaseException] | None = None
    """Only for the synchronous ways: an event loop ends with it, and nothing can be asked then."""
    parent: "Callable[[Agent], Any] | None" = None
    """Builds the graph that the agent is a node of."""
    stop_at: str | None = None
    """The event at which the user stops the run (which only an asynchronous one can be)."""
    saved: bool = False
    """It needs the record of files and started calls, which a thread in memory does not keep."""
    then: Then | None = None
    also: Callable[[Played], bool] | None = None


def note(line: str) -> str:
    """Add a line to the log."""
    log = current_workspace().root / "log"
    with log.open("a") as file:
        file.write(f"{line}\n")
    return f"noted {line}"


def ping() -> str:
    """Say that you are there."""
    return note("ping")


DONE = says("All of it is done.")


def noting(line: str, call_id: str | None = "call_a") -> dict[str, Any]:
    """The wire form of a good call of `note`."""
    return wire_call("note", json.dumps({"line": line}), call_id)


def notes(*lines: str, **fields: Any) -> Reply:
    """A reply with a call of `note` for each line."""
    return raw_calls(*(noting(line, f"n_{line}") for line in lines), **fields)


def arguments(written: object, tool: str = "note") -> Reply:
    """A reply with one call whose arguments are `written` as they stand."""
    return raw_calls(wire_call(tool, written))


def mended(name: str, reply: Answer, code: str = "invalid_arguments", **expected: Any) -> Row:
    """A bad call that gets its own error, then a good one."""
    return Row(name, [reply, notes("one"), DONE], ran=["one"], told=[code, "ok"], **expected)


def either(streamed: Reply, whole: Reply) -> Callable[[Request], Reply]:
    """One of two renderings of the same reply."""
    return lambda request: streamed if request.streamed else whole


def provided(wanted: Callable[[Request], bool], reply: Reply, why: str = "not as wanted") -> Answer:
    """`reply` if the request is as wanted, else an error that no retry can mend."""
    return lambda request: reply if wanted(request) else fails(418, why)


def last_text(request: Request) -> str:
    """The content of the newest message of a request."""
    return str(request.messages[-1]["content"])
