"""argparse, with wrong use told in one line and the version by need."""

import argparse
import re
from collections.abc import Sequence
from difflib import get_close_matches
from importlib.metadata import version
from typing import Any, NoReturn

from headway.status import USAGE_ERROR
from headway_cli.help_text import COMMANDS
from headway_cli.streams import put, tell
from headway_cli.terminal import one_line


class Version(argparse.Action):
    def __call__(
        self,
        parser: argparse.ArgumentParser,
        namespace: argparse.Namespace,
        values: str | Sequence[Any] | None,
        option_string: str | None = None,
    ) -> None:
        put(f"headway {version('headway')}")
        parser.exit()


class Parser(argparse.ArgumentParser):
    """Wrong use is one line and where the help is, not the whole usage."""

    def error(self, message: str) -> NoReturn:
        wrong = re.search("invalid choice: '(.*?)' \\(choose", message)
        if wrong:
            near = get_close_matches(wrong[1], COMMANDS, 1)
            message = f"there is no command {wrong[1]!r}"
            message += f"; did you mean {near[0]!r}?" if near else ""
        tell(f"{self.prog}: {one_line(message)} ({self.prog} --help)")
        self.exit(USAGE_ERROR)
