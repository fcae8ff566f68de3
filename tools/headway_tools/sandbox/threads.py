"""A synchronous, cancellable call as a coroutine."""

import asyncio
import contextvars
import threading
from collections.abc import Callable
from typing import TypeVar

from headway_tools.sandbox.policy import Cancel

T = TypeVar("T")


async def run_in_thread(fn: Callable[[Cancel], T]) -> T:
    """`fn` in a thread of its own; on cancellation it is asked to end and waited for.

    Its own thread, not a pool's: bwrap dies with the thread that started it, so that thread must
    last as long as the call. The context (the current tool environment) goes along.
    """
    cancel = Cancel()
    loop = asyncio.get_running_loop()
    done: asyncio.Future[T] = loop.create_future()
    context = contextvars.copy_context()

    def work() -> None:
        try:
            value = context.run(fn, cancel)
        except BaseException as error:
            loop.call_soon_threadsafe(done.set_exception, error)
        else:
            loop.call_soon_threadsafe(done.set_result, value)

    thread = threading.Thread(target=work, name="headway-command", daemon=True)
    thread.start()
    try:
        return await asyncio.shield(done)
    except asyncio.CancelledError:
        cancel.trigger()
        await asyncio.wait([done])
        if not done.cancelled():
            done.exception()
        raise
    finally:
        cancel.close()
