"""With durability "async" a step may begin before its checkpoint is saved.

Killed then, the resume asks the model again, under task ids that the journal does not know, and
a call that ran would run again unsaid. So tools wait until the checkpoints they run from are
there (3 ms). With "exit" nothing is saved before the end: there is nothing to wait for.
"""

import asyncio
import time
from collections.abc import Iterator
from typing import Any, Final

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import BaseCheckpointSaver

from headway_tools.errors import HeadwayError

DURABILITY: Final = "__pregel_durability"
"""LangGraph's private key of the default durability (a test holds it). Without a checkpointer the
value "sync" makes LangGraph 1.2.24 fail, so it is set only where there is one."""
_SAVER: Final = "__pregel_checkpointer"
_PAUSE: Final = 0.002
_SECONDS: Final = 60.0


def wait_until_saved(config: RunnableConfig) -> None:
    """Return when all checkpoints that this task runs from are saved, parents' too.

    `HeadwayError`: they are not, after a minute.
    """
    saver: BaseCheckpointSaver[Any] | None = config["configurable"].get(_SAVER)
    deadline = time.monotonic() + _SECONDS
    for address in _awaited(config):
        while saver is not None and saver.get_tuple(address) is None:
            _refuse_after(deadline)
            time.sleep(_PAUSE)


async def await_saved(config: RunnableConfig) -> None:
    """`wait_until_saved`, asynchronously."""
    saver: BaseCheckpointSaver[Any] | None = config["configurable"].get(_SAVER)
    deadline = time.monotonic() + _SECONDS
    for address in _awaited(config):
        while saver is not None and await saver.aget_tuple(address) is None:
            _refuse_after(deadline)
            await asyncio.sleep(_PAUSE)


def _awaited(config: RunnableConfig) -> Iterator[RunnableConfig]:
    """The addresses of the checkpoints, where they may not be saved yet."""
    given = config["configurable"]
    if given.get(DURABILITY) != "async":
        return
    for namespace, checkpoint in (given.get("checkpoint_map") or {}).items():
        address = {"checkpoint_ns": namespace, "checkpoint_id": checkpoint}
        yield {"configurable": {"thread_id": given.get("thread_id"), **address}}


def _refuse_after(deadline: float) -> None:
    if time.monotonic() > deadline:
        raise HeadwayError(
            "the step before this one could not be saved, so nothing more is run; "
            "check the database of the checkpoints"
        )
