"""Where checkpoints are kept: PostgreSQL if `HEADWAY_POSTGRES` names one, else one SQLite file
in the data folder, private, shared by processes."""

import importlib
import os
import sqlite3
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from types import ModuleType
from typing import Any, Final

import aiosqlite
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver

from headway.extras import how_to_install
from headway_tools.errors import HeadwayError
from headway_tools.home import Home

BUSY_SECONDS: Final = 30.0
"""How long a write waits for another process."""

POSTGRES: Final = "HEADWAY_POSTGRES"
"""The variable with the address, `postgresql://user:password@host:port/database`."""


@contextmanager
def open_saver(home: Home) -> Iterator[BaseCheckpointSaver[Any]]:
    """The saver that the environment names, closed at the end."""
    url = os.environ.get(POSTGRES)
    with _postgres().postgres_saver(url) if url else sqlite_saver(home) as saver:
        yield saver


@asynccontextmanager
async def open_async_saver(home: Home) -> AsyncIterator[BaseCheckpointSaver[Any]]:
    """`open_saver`, asynchronously."""
    url = os.environ.get(POSTGRES)
    opened = _postgres().async_postgres_saver(url) if url else async_sqlite_saver(home)
    async with opened as saver:
        yield saver


def _postgres() -> ModuleType:
    try:
        return importlib.import_module("headway.postgres")
    except ImportError as error:
        raise HeadwayError(
            f"{POSTGRES} is set, but {error.name} is missing: {how_to_install('postgres')}"
        ) from error


@contextmanager
def sqlite_saver(home: Home) -> Iterator[SqliteSaver]:
    """The saver of the data folder, closed at the end."""
    connection = sqlite3.connect(_file(home), timeout=BUSY_SECONDS, check_same_thread=False)
    try:
        saver = SqliteSaver(connection)
        saver.setup()
        yield saver
    except sqlite3.DatabaseError as error:
        raise _broken(home, error) from error
    finally:
        connection.close()


@asynccontextmanager
async def async_sqlite_saver(home: Home) -> AsyncIterator[AsyncSqliteSaver]:
    """`sqlite_saver`, asynchronously."""
    try:
        async with aiosqlite.connect(_file(home), timeout=BUSY_SECONDS) as connection:
            saver = AsyncSqliteSaver(connection)
            await saver.setup()
            yield saver
    except sqlite3.DatabaseError as error:
        raise _broken(home, error) from error


def _file(home: Home) -> str:
    path = home.make().checkpoints
    try:
        os.close(os.open(path, os.O_RDWR | os.O_CREAT, 0o600))
    except OSError as error:
        raise HeadwayError(f"cannot write {path}: {error.strerror}; set HEADWAY_HOME") from error
    return str(path)


def _broken(home: Home, error: sqlite3.DatabaseError) -> HeadwayError:
    return HeadwayError(
        f"the thread database {home.checkpoints} cannot be used ({error}); free disk space, or "
        "move it aside and start anew"
    )
