"""The checkpoints of the data folder: SQLite, private, shared by processes."""

import os
import sqlite3
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager

import aiosqlite
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver

from headway_tools.errors import HeadwayError
from headway_tools.home import Home

BUSY_SECONDS = 30.0
"""How long a write waits for another process."""


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
