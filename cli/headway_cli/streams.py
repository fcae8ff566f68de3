"""The standard streams as a program may find them: closed, full, or with nobody behind them.

The result on stdout matters: where it cannot be written the command fails. What is told on stderr
is a courtesy: where it cannot be written it is dropped, and the run goes on.
"""

import io
import os
import sys
from typing import Final, TextIO

PIPE_CLOSED: Final = 141
"""The reader of stdout went away: what a shell says of a program that SIGPIPE ended."""

CANNOT_WRITE: Final = 74
"""stdout took no more, a full disk say: EX_IOERR of sysexits.h."""


def open_closed() -> bool:
    """Give closed standard streams the null device, lest a file of ours gets their number; False
    where stdout was closed. What an encoding lacks is read and written as an escape."""
    was_open = sys.stdout is not None
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        stream = getattr(sys, name)
        if stream is None:
            _to_null(number)
            setattr(sys, name, os.fdopen(number, "w" if number else "r", closefd=False))
        elif isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    return was_open


class OutputLost(Exception):
    """stdout did not take the result; the message says why."""

    def __init__(self, error: OSError) -> None:
        super().__init__(error.strerror)
        self.reader_left = isinstance(error, BrokenPipeError)


def put(text: str = "", *, end: str = "\n", stream: TextIO | None = None) -> None:
    """Write a part of the result on stdout. Raises `OutputLost`."""
    where = stream or sys.stdout
    try:
        print(text, end=end, file=where, flush=True)
    except OSError as error:
        _to_null(where.fileno())
        raise OutputLost(error) from error


def tell(text: str = "", *, end: str = "\n", stream: TextIO | None = None) -> None:
    """Write on stderr, or drop it where that takes nothing."""
    where = stream or sys.stderr
    try:
        print(text, end=end, file=where, flush=True)
    except OSError:
        _to_null(where.fileno())


def _to_null(number: int) -> None:
    null = os.open(os.devnull, os.O_RDWR)
    if null != number:
        os.dup2(null, number)
        os.close(null)
