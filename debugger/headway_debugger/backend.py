"""One graph and its threads, whatever keeps them: a saver at hand or a server behind RemoteGraph.

Everything goes through the Pregel protocol; where the saver's rows can be read, they are.
All calls block: inside an event loop use `asyncio.to_thread`, which works for async savers too.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Protocol

from langchain_core.messages import BaseMessage
from langchain_core.runnables import RunnableConfig
from langchain_core.runnables.graph import Edge
from langchain_core.runnables.graph import Graph as DrawableGraph
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.errors import InvalidUpdateError
from langgraph.types import StateSnapshot

from headway_debugger.normal import messages_in, normal_snapshot
from headway_debugger.rows import NO_TASK, Row, RowStore, corrupted
from headway_debugger.savers import rows_of
from headway_tools.errors import HeadwayError

MESSAGES = "messages"
HISTORY_LIMIT = 200
"""Newest checkpoints read where there are no rows to read: 30 to 50 ms each on a server."""


class Graph(Protocol):
    """The part of the Pregel protocol that time travel needs."""

    def get_state(self, config: RunnableConfig, *, subgraphs: bool = False) -> StateSnapshot: ...

    def get_state_history(
        self, config: RunnableConfig, *, limit: int | None = None
    ) -> Iterator[StateSnapshot]: ...

    def get_graph(self) -> DrawableGraph: ...

    def update_state(
        self, config: RunnableConfig, values: Any, as_node: str | None = None
    ) -> RunnableConfig: ...

    def invoke(self, input: Any, config: RunnableConfig | None = None) -> Any: ...


class Backend:
    """Threads of `graph`.

    `graph` is any compiled graph with a checkpointer, or a RemoteGraph. `check` is called with
    every state's metadata and values and raises `HeadwayError` for what this version cannot
    read (a newer schema). Messages are looked for in the channel `messages`.
    """

    def __init__(
        self,
        graph: Graph,
        *,
        check: Callable[[Mapping[str, Any]], None] | None = None,
        history_limit: int = HISTORY_LIMIT,
    ) -> None:
        saver = getattr(graph, "checkpointer", None)
        self.graph = graph
        self.saver: BaseCheckpointSaver[Any] | None = (
            saver if isinstance(saver, BaseCheckpointSaver) else None
        )
        self.local = hasattr(graph, "channels")
        self.history_limit = history_limit
        self._check = check
        self._rows: RowStore | None = rows_of(saver)
        if self.local and self.saver is None:
            raise HeadwayError("this graph keeps no threads: compile it with a checkpointer")

    def rows(self, thread_id: str) -> list[Row]:
        """All checkpoints of a thread, oldest first, without their state.

        `HeadwayError`: no such thread, or a damaged row.
        """
        with self._guard(thread_id):
            if self._rows is not None:
                rows = self._rows.rows(thread_id)
            else:
                config = address(thread_id)
                history = self.graph.get_state_history(config, limit=self.history_limit)
                rows = sorted((_row_of(s) for s in history), key=lambda row: row.id)
        if not rows:
            raise HeadwayError(f"no thread {thread_id}: `headway threads` lists them")
        return rows

    def snapshot(
        self, thread_id: str, checkpoint_id: str, *, subgraphs: bool = False
    ) -> StateSnapshot:
        """The state at a checkpoint: message objects everywhere, `next`, tasks, interrupts.

        `HeadwayError`: no such checkpoint, damaged, or written by a newer version.
        """
        with self._guard(thread_id, checkpoint_id):
            config = address(thread_id, checkpoint_id)
            snapshot = self.graph.get_state(config, subgraphs=subgraphs)
            snapshot = normal_snapshot(snapshot)
        if snapshot.created_at is None:
            raise HeadwayError(f"thread {thread_id} has no checkpoint {checkpoint_id}")
        if self._check is not None:
            self._check(snapshot.values)
        return snapshot

    def produced(self, thread_id: str, ids: Iterable[str]) -> dict[str, list[BaseMessage]]:
        """The messages that tasks wrote while they ran from each checkpoint of `ids`."""
        with self._guard(thread_id):
            if self._rows is not None:
                stored = self._rows.writes(thread_id, ids, MESSAGES)
                return {i: messages_in(values) for i, values in stored.items()}
            found = {i: self.graph.get_state(address(thread_id, i)).tasks for i in ids}
        return {
            i: messages_in([_result(task.result) for task in tasks]) for i, tasks in found.items()
        }

    def update(
        self,
        thread_id: str,
        checkpoint_id: str,
        values: Any,
        as_node: str | None,
        note: Mapping[str, str] | None = None,
    ) -> str:
        """Write one checkpoint on top of another; its id.

        `note` is kept in the new checkpoint's metadata, where the saver keeps it.
        """
        config = address(thread_id, checkpoint_id)
        if note:
            config["metadata"] = dict(note)
        with self._guard(thread_id, checkpoint_id, "edit"):
            try:
                written = self.graph.update_state(config, values, as_node=as_node)
            except InvalidUpdateError as error:
                raise HeadwayError(
                    f"thread {thread_id}: the edit does not fit the graph: {error}"
                ) from error
        return checkpoint_of(written)

    def edges(self) -> list[Edge]:
        """The graph's edges, as drawn."""
        return list(self.graph.get_graph().edges)

    def loose_writes(self, thread_id: str, checkpoint_id: str) -> dict[str, Any]:
        """Values set on a checkpoint by no task, by channel.

        Not those that came with an answer (`Command(resume=…, update=…)`): they are part of it.
        """
        stored = self.saver.get_tuple(address(thread_id, checkpoint_id)) if self.saver else None
        loose = [w for w in (stored and stored.pending_writes) or [] if w[0] == NO_TASK]
        if any(channel == "__resume__" for _, channel, _ in loose):
            return {}
        return {channel: value for _, channel, value in loose}

    def set_values(self, thread_id: str, checkpoint_id: str, values: Mapping[str, Any]) -> None:
        """Set channels on a new checkpoint; what runs next stays.

        As `invoke(Command(update=…))` does before its first step, only without running. Once per
        checkpoint: savers keep the first writes.
        """
        saver = self.require_saver("setting values")
        saver.put_writes(address(thread_id, checkpoint_id), list(values.items()), NO_TASK)

    @contextmanager
    def _guard(
        self, thread_id: str, checkpoint_id: str = "", doing: str = "read"
    ) -> Iterator[None]:
        """Turn what stores, decoders and servers raise into one line."""
        try:
            yield
        except HeadwayError:
            raise
        except Exception as error:
            if not self.local and _not_found(error):
                raise HeadwayError(
                    f"no thread {thread_id}: `headway threads` lists them"
                ) from error
            busy = type(error).__name__ == "OperationalError"  # of sqlite3 and of psycopg
            if self.local and doing == "read" and not busy:
                raise corrupted(thread_id, checkpoint_id or "?", error) from error
            said = " ".join(str(error).split())[:200]
            raise HeadwayError(
                f"cannot {doing} thread {thread_id} ({type(error).__name__}: {said}); "
                "what was there is as it was"
            ) from error

    def require_saver(self, verb: str) -> BaseCheckpointSaver[Any]:
        """The saver, for verbs that a server does not offer."""
        if self.saver is None:
            raise HeadwayError(f"{verb} needs the checkpointer itself: use the server's own API")
        return self.saver

    def require_rows(self, verb: str) -> RowStore:
        """The saver's rows, for verbs that no saver offers by itself."""
        self.require_saver(verb)
        if self._rows is None:
            kind = type(self.saver).__name__
            raise HeadwayError(f"{verb} knows no rows of a {kind}: use its blocking twin")
        return self._rows


def address(thread_id: str, checkpoint_id: str | None = None) -> RunnableConfig:
    """The config that names a thread, or one checkpoint of it."""
    configurable: dict[str, Any] = {"thread_id": thread_id, "checkpoint_ns": ""}
    if checkpoint_id is not None:
        configurable["checkpoint_id"] = checkpoint_id
    return {"configurable": configurable}


def checkpoint_of(config: RunnableConfig) -> str:
    """The checkpoint id in a config that a graph returned."""
    return str(config.get("configurable", {})["checkpoint_id"])


def _not_found(error: Exception) -> bool:
    """How servers say that a thread is not there, or that its id cannot be one."""
    status = getattr(error, "status_code", None)
    return status in (400, 404, 422) or "NoneType" in str(error) and isinstance(error, TypeError)


def _result(result: Any) -> Any:
    return result.get(MESSAGES, []) if isinstance(result, dict) else []


def _row_of(snapshot: StateSnapshot) -> Row:
    metadata: Mapping[str, Any] = snapshot.metadata or {}
    marks = {"interrupt"} if snapshot.interrupts else set()
    if any(task.error for task in snapshot.tasks):
        marks.add("error")
    parent = snapshot.parent_config
    return Row(
        id=checkpoint_of(snapshot.config),
        parent=checkpoint_of(parent) if parent else None,
        step=int(metadata.get("step", -1)),
        source=str(metadata.get("source", "loop")),
        ran=tuple(dict.fromkeys(task.name for task in snapshot.tasks)),
        marks=frozenset(marks),
        next=tuple(snapshot.next),
        metadata=metadata,
    )
