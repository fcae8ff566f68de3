"""The `headway` command: parse, hand over to the command's module, turn errors into exit codes."""

import argparse
import importlib
import signal
import sys
from collections.abc import Sequence
from typing import Final

from headway.status import USAGE_ERROR, exit_code
from headway_cli.parser import build_parser
from headway_cli.streams import CANNOT_WRITE, PIPE_CLOSED, OutputLost, open_closed, put, tell
from headway_cli.terminal import one_line
from headway_tools.errors import HeadwayError

NO_STDOUT: Final = "headway: stdout is closed: give the result a place, > /dev/null for none"


INTERRUPTED: Final = exit_code("cancelled")
"""Ctrl-C, whatever the command was doing."""


def program() -> int:
    """`main` as a whole process: Ctrl-C while it goes away changes no exit code."""
    code = main()
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    return code


def main(argv: Sequence[str] | None = None) -> int:
    """The exit code of `headway ARGV`. A `HeadwayError` is one line on stderr and code 2."""
    if not open_closed():
        tell(NO_STDOUT)
        return USAGE_ERROR
    words = sys.argv[1:] if argv is None else argv
    parser = build_parser()
    if not words:
        parser.print_help(sys.stderr)
        return USAGE_ERROR
    try:
        return _carry_out(parser, words)
    except HeadwayError as error:
        tell(f"headway: {one_line(str(error))}")
        return USAGE_ERROR
    except KeyboardInterrupt:
        tell("headway: stopped")
        return INTERRUPTED
    except OutputLost as lost:
        if lost.reader_left:
            return PIPE_CLOSED
        tell(f"headway: cannot write to stdout: {lost}; what ran is kept")
        return CANNOT_WRITE


def _carry_out(parser: argparse.ArgumentParser, words: Sequence[str]) -> int:
    try:
        args = parser.parse_args(words)
    except SystemExit:
        put(end="")
        raise
    command = importlib.import_module(f"headway_cli.commands.{args.command}")
    code: int = command.run(args)
    return code
