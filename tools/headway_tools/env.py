"""What a tool call may touch, handed over in a context variable.

The tools node sets it around each call, so tools stay plain functions of their arguments and
know nothing of graphs, and two branches of one process never see each other's folder.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from headway_tools.errors import HeadwayError

if TYPE_CHECKING:
    from headway_tools.journal import Journal
    from headway_tools.sandbox import Sandbox
    from headway_tools.snapshots import Change
    from headway_tools.storage import WorkspaceStates
    from headway_tools.turns import Turns
    from headway_tools.workspace import Workspace


@dataclass(frozen=True)
class ToolEnv:
    """One branch of one thread: its folder, its sandbox, its journal."""

    workspace: "Workspace | None"
    sandbox: "Sandbox | None"
    journal: "Journal"
    snapshots: "WorkspaceStates | None"
    tool_timeout: float
    """Seconds that one tool call may take at most."""
    mask: Callable[[str], str] = str
    """Replaces the host's secrets in a text before anything is recorded or shown."""
    thread: str | None = None
    """Its id; None without one."""
    turns: "Turns | None" = None
    """Taken by whatever changes files; None where nothing of the thread is kept."""

    def files_now(self) -> str:
        """The snapshot of the workspace as it is now, empty where none is kept."""
        if self.workspace is None or self.snapshots is None:
            return ""
        return self.snapshots.take(self.workspace.root)

    def changes(self, before: str | None, after: str | None) -> "list[Change]":
        """What differs between two snapshots; nothing where one is not in this store: the thread
        was copied, or its folder is another machine's."""
        store = self.snapshots
        if store is None or not before or not after or before == after:
            return []
        known = store.holds(before) and store.holds(after)
        return store.diff(before, after) if known else []


_current: ContextVar[ToolEnv | None] = ContextVar("headway_tool_env", default=None)


def current_env() -> ToolEnv:
    """The environment of the running tool call; `HeadwayError` outside of one."""
    env = _current.get()
    if env is None:
        raise HeadwayError("no tool call is running here: call this tool through a headway agent")
    return env


def current_workspace() -> "Workspace":
    """The workspace of the running tool call (its `root` is the real folder of this branch)."""
    workspace = current_env().workspace
    if workspace is None:
        raise HeadwayError("this agent has no workspace: pass workspace= to build_agent")
    return workspace


@contextmanager
def use_env(env: ToolEnv) -> Iterator[Path | None]:
    """Make `env` the current one for the calls below."""
    token = _current.set(env)
    try:
        yield env.workspace.root if env.workspace else None
    finally:
        _current.reset(token)
