"""The `headway` command: parse, hand over to the command's module, turn errors into exit codes."""

import importlib
import sys
from collections.abc import Sequence

from headway.status import USAGE_ERROR
from headway_cli.parser import build_parser
from headway_cli.terminal import one_line
from headway_tools.errors import HeadwayError


def main(argv: Sequence[str] | None = None) -> int:
    """The exit code of `headway ARGV`. A `HeadwayError` is one line on stderr and code 2."""
    args = build_parser().parse_args(argv)
    command = importlib.import_module(f"headway_cli.commands.{args.command}")
    try:
        code: int = command.run(args)
    except HeadwayError as error:
        print(f"headway: {one_line(str(error))}", file=sys.stderr)
        return USAGE_ERROR
    except BrokenPipeError:
        sys.stderr.close()
        return 0
    return code
