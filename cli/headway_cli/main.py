"""The `headway` command: parse, hand over to the command's module, turn errors into exit codes."""

import importlib
import os
import sys
from collections.abc import Sequence

from headway.status import USAGE_ERROR
from headway_cli.parser import build_parser
from headway_cli.terminal import one_line
from headway_tools.errors import HeadwayError

PIPE_CLOSED = 141
"""The reader of stdout went away: what a shell says of a program that SIGPIPE ended."""


def main(argv: Sequence[str] | None = None) -> int:
    """The exit code of `headway ARGV`. A `HeadwayError` is one line on stderr and code 2."""
    words = sys.argv[1:] if argv is None else argv
    parser = build_parser()
    if not words:
        parser.print_help(sys.stderr)
        return USAGE_ERROR
    args = parser.parse_args(words)
    command = importlib.import_module(f"headway_cli.commands.{args.command}")
    try:
        code: int = command.run(args)
        sys.stdout.flush()
    except HeadwayError as error:
        print(f"headway: {one_line(str(error))}", file=sys.stderr)
        return USAGE_ERROR
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return PIPE_CLOSED
    return code
