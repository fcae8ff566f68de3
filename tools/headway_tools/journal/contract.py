"""What a journal is: the reference that graph state holds, the entry of a call, the methods."""

from dataclasses import dataclass
from typing import Any, Literal, NotRequired, Protocol

from typing_extensions import TypedDict

CallStatus = Literal["success", "error"]
Content = str | list[Any]


class Ref(TypedDict):
    """What graph state holds of one result: plain data, never the content itself."""

    call: str
    """The call's id in its message."""
    name: str
    """The tool."""
    status: CallStatus
    output: str
    """The id by which `read_output` finds the content, `o-` and hex digits of its hash."""
    kind: Literal["text", "blocks"]
    size: int
    """Characters."""
    lines: int
    sha: str
    may_have_run: NotRequired[bool]
    """True: the call was interrupted, nobody knows how far it came."""
    before: NotRequired[str]
    """Snapshot of the workspace before a changing call."""
    after: NotRequired[str]


@dataclass(frozen=True)
class Entry:
    """One call: `started` (a changing call that may have run) or `done` (then `ref` is set)."""

    state: Literal["started", "done"]
    call: str
    name: str
    before: str | None
    ref: Ref | None


class Journal(Protocol):
    """One thread's journal; every method may be called from any thread."""

    def lookup(self, key: str) -> Entry | None:
        """What is known of the call `<task id>/<call id>`."""
        ...

    def start(self, key: str, *, call: str, name: str, before: str | None) -> None:
        """Note that a changing call is about to run."""
        ...

    def finish(
        self,
        key: str,
        *,
        call: str,
        name: str,
        status: CallStatus,
        content: Content,
        before: str | None = None,
        after: str | None = None,
        may_have_run: bool = False,
    ) -> Ref:
        """Record the whole result; a call that is done already keeps its first result."""
        ...

    def forget(self, key: str) -> None:
        """Take back `start`: the call did not run, or must run again on resume."""
        ...

    def read(self, output: str) -> Content:
        """The whole content; `ToolFailure` `unknown_output`, `expired` or `io_error`."""
        ...

    def close(self) -> None: ...
