"""The checkpoints in PostgreSQL, from the extra `postgres`: a pool, tables made once.

PostgreSQL refuses text and numbers that its JSON cannot hold. What stands in such places is
cleaned on the way, so no odd name or number ever breaks the write of a step.
"""

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from typing import Any, Final, cast

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import (
    ChannelVersions,
    Checkpoint,
    CheckpointMetadata,
    CheckpointTuple,
)
from langgraph.checkpoint.postgres import PostgresSaver
from langgraph.checkpoint.postgres.aio import AsyncPostgresSaver
from psycopg import AsyncConnection, Connection, Error
from psycopg.conninfo import conninfo_to_dict
from psycopg.rows import DictRow, dict_row
from psycopg_pool import AsyncConnectionPool, ConnectionPool, PoolTimeout

from headway_tools.errors import HeadwayError
from headway_tools.values import plain, sendable

MOST_CONNECTIONS: Final = 8
"""Of one process."""

CONNECT_SECONDS: Final = 10
"""How long the server may take to answer."""

SETUP_LOCK: Final = 4_715_123_909
"""PostgreSQL's advisory lock under which one process makes the tables."""

_TRY_LOCK: Final = "SELECT pg_try_advisory_lock(%s) AS taken"
_UNLOCK: Final = "SELECT pg_advisory_unlock(%s)"
_SETTINGS: Final[dict[str, Any]] = {
    "autocommit": True,
    "prepare_threshold": 0,
    "row_factory": dict_row,
    "connect_timeout": CONNECT_SECONDS,
}


class CleanPostgresSaver(PostgresSaver):
    """LangGraph's saver, with clean values in the columns of type JSONB."""

    def get_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        return super().get_tuple(with_good_id(config))

    def put(
        self,
        config: RunnableConfig,
        checkpoint: Checkpoint,
        metadata: CheckpointMetadata,
        new_versions: ChannelVersions,
    ) -> RunnableConfig:
        return super().put(*storable(config, checkpoint, metadata), new_versions)


class CleanAsyncPostgresSaver(AsyncPostgresSaver):
    """`CleanPostgresSaver`, asynchronously."""

    async def aget_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        return await super().aget_tuple(with_good_id(config))

    async def aput(
        self,
        config: RunnableConfig,
        checkpoint: Checkpoint,
        metadata: CheckpointMetadata,
        new_versions: ChannelVersions,
    ) -> RunnableConfig:
        return await super().aput(*storable(config, checkpoint, metadata), new_versions)


@contextmanager
def postgres_saver(url: str) -> Iterator[CleanPostgresSaver]:
    """The saver of the database at `url`; its connections are closed at the end.

    Raises `HeadwayError` where the server cannot be reached or refuses.
    """
    with _reported(url):
        with Connection[DictRow].connect(url, **_SETTINGS) as connection:
            while not _taken(connection.execute(_TRY_LOCK, (SETUP_LOCK,)).fetchone()):
                time.sleep(0.05)
            try:
                PostgresSaver(connection).setup()
            finally:
                connection.execute(_UNLOCK, (SETUP_LOCK,))
        with ConnectionPool[Connection[DictRow]](
            url, min_size=1, max_size=MOST_CONNECTIONS, kwargs=_SETTINGS, open=True
        ) as pool:
            yield CleanPostgresSaver(pool)


@asynccontextmanager
async def async_postgres_saver(url: str) -> AsyncIterator[CleanAsyncPostgresSaver]:
    """`postgres_saver`, asynchronously."""
    with _reported(url):
        async with await AsyncConnection[DictRow].connect(url, **_SETTINGS) as connection:
            while True:
                cursor = await connection.execute(_TRY_LOCK, (SETUP_LOCK,))
                if _taken(await cursor.fetchone()):
                    break
                await asyncio.sleep(0.05)
            try:
                await AsyncPostgresSaver(connection).setup()
            finally:
                await connection.execute(_UNLOCK, (SETUP_LOCK,))
        async with AsyncConnectionPool[AsyncConnection[DictRow]](
            url, min_size=1, max_size=MOST_CONNECTIONS, kwargs=_SETTINGS, open=False
        ) as pool:
            yield CleanAsyncPostgresSaver(pool)


def _taken(row: Mapping[str, Any] | None) -> bool:
    return row is not None and bool(row["taken"])


@contextlib.contextmanager
def _reported(url: str) -> Iterator[None]:
    """Errors of the database in one line, without the password of the address."""
    try:
        yield
    except (Error, PoolTimeout) as error:
        reason = " ".join(str(error).split()) or type(error).__name__
        raise HeadwayError(
            f"PostgreSQL at {_where(url)} cannot be used ({reason}); check HEADWAY_POSTGRES"
        ) from error


def _where(url: str) -> str:
    try:
        known = conninfo_to_dict(url)
    except Error:
        return "an address that is none"
    return f"{known.get('host', 'localhost')}:{known.get('port', 5432)}/{known.get('dbname', '')}"


def with_good_id(config: RunnableConfig) -> RunnableConfig:
    """`config`, or `HeadwayError` for a thread id that PostgreSQL cannot store."""
    thread_id = str(config["configurable"]["thread_id"])
    if not sendable(thread_id):
        raise HeadwayError(
            f"the thread id {thread_id!r} cannot be stored in PostgreSQL: give it one without NUL "
            "and without halves of surrogate pairs"
        )
    return config


def storable(
    config: RunnableConfig, checkpoint: Checkpoint, metadata: CheckpointMetadata
) -> tuple[RunnableConfig, Checkpoint, CheckpointMetadata]:
    """The same with clean values wherever the saver writes JSONB: metadata, settings of the
    caller that go into it, and channels that hold a bare text or number."""
    clean_config: RunnableConfig = {**config, "configurable": _scalars(config["configurable"])}
    if "metadata" in config:
        clean_config["metadata"] = plain(config["metadata"])
    values = _scalars(checkpoint["channel_values"])
    clean_checkpoint: Checkpoint = {**checkpoint, "channel_values": values}
    return clean_config, clean_checkpoint, cast(CheckpointMetadata, plain(metadata))


def _scalars(values: Mapping[str, Any]) -> dict[str, Any]:
    return {k: plain(v) if isinstance(v, str | float) else v for k, v in values.items()}
