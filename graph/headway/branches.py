"""A saver that shows one branch of a thread as if it were the whole thread.

LangGraph's head of a thread is whatever was written last, on whichever branch. Addressing the
tip of a branch instead makes `invoke(None)` start from a copy, whose new task ids would let
recorded calls run again. So a run on a branch stays unaddressed, over this view.
"""

from collections import defaultdict
from collections.abc import (
    AsyncIterator,
    Collection,
    Container,
    Iterator,
    Mapping,
    Sequence,
)
from contextlib import contextmanager
from typing import Any, Final

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import (
    BaseCheckpointSaver,
    ChannelVersions,
    Checkpoint,
    CheckpointMetadata,
    CheckpointTuple,
    DeltaChannelHistory,
)
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver

from headway.heads import MAIN, Heads, HeadStore
from headway_tools.errors import HeadwayError

_LINKS: Final = (
    "SELECT checkpoint_id, parent_checkpoint_id FROM checkpoints "
    "WHERE thread_id = ? AND checkpoint_ns = ''"
)

Links = Mapping[str, str | None]
"""The parent of each checkpoint."""


def follow(
    start: str, children: Mapping[str | None, Sequence[str]], starts: Container[str]
) -> list[str]:
    """The checkpoints of the branch that begins at `start`, in order.

    A branch goes on at the oldest child, and ends where that is the start of another one.
    """
    line = [start]
    while (following := children.get(line[-1])) and following[0] not in starts:
        line.append(following[0])
    return line


def tip(links: Links, branch: str, heads: Heads) -> str:
    """The newest checkpoint of a branch; `HeadwayError`: there is no such branch."""
    children: dict[str | None, list[str]] = defaultdict(list)
    for checkpoint in sorted(links):
        parent = links[checkpoint]
        children[parent if parent in links else None].append(checkpoint)
    start = heads.starts.get(branch)
    if start is None and branch == MAIN:
        start = next((root for root in children[None] if root not in heads.names), None)
    if start is None or start not in links:
        raise HeadwayError(f"there is no branch {branch}: `headway show` lists the branches")
    return follow(start, children, heads.names)[-1]


class BranchView(BaseCheckpointSaver[Any]):
    """`saver`, but the newest checkpoint of each thread's own graph is the tip of `branch`.

    `heads` names the branches; without a name in it a thread is one line, and nothing is looked
    up. Everything with a checkpoint id, and everything of subgraphs, goes to `saver` as it is.
    """

    def __init__(self, saver: BaseCheckpointSaver[Any], branch: str, heads: HeadStore) -> None:
        super().__init__(serde=saver.serde)
        self._saver, self._branch, self._heads = saver, branch, heads

    @property
    def config_specs(self) -> list[Any]:
        return self._saver.config_specs

    def get_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        with _readable(config):
            if (heads := self._named(config)) is not None:
                config = self._at_tip(config, links(self._saver, config), heads)
            return self._saver.get_tuple(config)

    async def aget_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        with _readable(config):
            if (heads := self._named(config)) is not None:
                config = self._at_tip(config, await alinks(self._saver, config), heads)
            return await self._saver.aget_tuple(config)

    def _named(self, config: RunnableConfig) -> Heads | None:
        """The branches, where `config` asks for the newest checkpoint and there are some."""
        asked = config["configurable"]
        if asked.get("checkpoint_id") or asked.get("checkpoint_ns"):
            return None
        heads = self._heads.load()
        return heads if heads.starts or self._branch != MAIN else None

    def _at_tip(self, config: RunnableConfig, links: Links, heads: Heads) -> RunnableConfig:
        found = tip(links, self._branch, heads)
        return {**config, "configurable": {**config["configurable"], "checkpoint_id": found}}

    def list(
        self,
        config: RunnableConfig | None,
        *,
        filter: dict[str, Any] | None = None,
        before: RunnableConfig | None = None,
        limit: int | None = None,
    ) -> Iterator[CheckpointTuple]:
        return self._saver.list(config, filter=filter, before=before, limit=limit)

    def alist(
        self,
        config: RunnableConfig | None,
        *,
        filter: dict[str, Any] | None = None,
        before: RunnableConfig | None = None,
        limit: int | None = None,
    ) -> AsyncIterator[CheckpointTuple]:
        return self._saver.alist(config, filter=filter, before=before, limit=limit)

    def put(
        self,
        config: RunnableConfig,
        checkpoint: Checkpoint,
        metadata: CheckpointMetadata,
        new_versions: ChannelVersions,
    ) -> RunnableConfig:
        return self._saver.put(config, checkpoint, metadata, new_versions)

    def aput(
        self,
        config: RunnableConfig,
        checkpoint: Checkpoint,
        metadata: CheckpointMetadata,
        new_versions: ChannelVersions,
    ) -> Any:
        return self._saver.aput(config, checkpoint, metadata, new_versions)

    def put_writes(
        self,
        config: RunnableConfig,
        writes: Sequence[tuple[str, Any]],
        task_id: str,
        task_path: str = "",
    ) -> None:
        self._saver.put_writes(config, writes, task_id, task_path)

    def aput_writes(
        self,
        config: RunnableConfig,
        writes: Sequence[tuple[str, Any]],
        task_id: str,
        task_path: str = "",
    ) -> Any:
        return self._saver.aput_writes(config, writes, task_id, task_path)

    def get_delta_channel_history(
        self, *, config: RunnableConfig, channels: Sequence[str]
    ) -> Mapping[str, DeltaChannelHistory]:
        return self._saver.get_delta_channel_history(config=config, channels=channels)

    def aget_delta_channel_history(self, *, config: RunnableConfig, channels: Sequence[str]) -> Any:
        return self._saver.aget_delta_channel_history(config=config, channels=channels)

    def get_next_version(self, current: Any, channel: None) -> Any:
        return self._saver.get_next_version(current, channel)

    def with_allowlist(self, extra_allowlist: Collection[tuple[str, ...]]) -> "BranchView":
        return BranchView(self._saver.with_allowlist(extra_allowlist), self._branch, self._heads)


@contextmanager
def _readable(config: RunnableConfig) -> Iterator[None]:
    """What decoders make of damaged rows, as one line."""
    try:
        yield
    except (ValueError, TypeError, KeyError, IndexError, EOFError) as error:
        thread = config["configurable"].get("thread_id")
        said = f"{type(error).__name__}: {str(error)[:120]}"
        raise HeadwayError(
            f"a stored row of thread {thread} is damaged ({said}); nothing was changed; "
            "fork from an earlier step, or restore the database from a copy"
        ) from error


def _thread(config: RunnableConfig) -> RunnableConfig:
    thread_id = config["configurable"]["thread_id"]
    return {"configurable": {"thread_id": thread_id, "checkpoint_ns": ""}}


def links(saver: BaseCheckpointSaver[Any], config: RunnableConfig) -> Links:
    """The checkpoints of the thread that `config` names. Of SQLite no row is decoded, so a
    damaged one stops its own branch only."""
    if isinstance(saver, SqliteSaver):
        with saver.cursor(transaction=False) as cursor:
            return dict(cursor.execute(_LINKS, (config["configurable"]["thread_id"],)).fetchall())
    return dict(map(_link, saver.list(_thread(config))))


async def alinks(saver: BaseCheckpointSaver[Any], config: RunnableConfig) -> Links:
    """`links`, asynchronously."""
    if isinstance(saver, AsyncSqliteSaver):
        async with saver.conn.execute(_LINKS, (config["configurable"]["thread_id"],)) as cursor:
            return {str(row[0]): row[1] async for row in cursor}
    return dict([_link(stored) async for stored in saver.alist(_thread(config))])


def _link(stored: CheckpointTuple) -> tuple[str, str | None]:
    return _id(stored.config), _id(stored.parent_config) if stored.parent_config else None


def _id(config: RunnableConfig) -> str:
    return str(config["configurable"]["checkpoint_id"])
