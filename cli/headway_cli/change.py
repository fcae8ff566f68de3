"""What a call that waits would do, for a person to decide from: bounded, and safe to print."""

import difflib
import json
from collections.abc import Iterator, Mapping
from itertools import islice
from typing import Any, Final

from headway_cli.events import gist_of_call
from headway_cli.terminal import visible

MOST_LINES: Final = 60
MOST_CHARACTERS: Final = 6_000


def change_of_call(args: Mapping[str, Any]) -> list[str]:
    """An edit as a diff, a command as it is, other arguments as JSON; nothing where the gist of
    the call says it all. What is cut away is counted."""
    text = visible("\n".join(_lines(args)))
    if text == gist_of_call(args):
        return []
    shown = text[:MOST_CHARACTERS].split("\n")[:MOST_LINES]
    rest = len(text) - len("\n".join(shown))
    return [*shown, f"… {rest} more characters: --json has all of it"] if rest else shown


def _lines(args: Mapping[str, Any]) -> Iterator[str]:
    old, new, command = (args.get(name) for name in ("old_text", "new_text", "command"))
    if isinstance(old, str) and isinstance(new, str):
        diff = difflib.unified_diff(_split(old), _split(new), n=2, lineterm="")
        yield from (line for line in islice(diff, 2, None) if not line.startswith("@@"))
    elif isinstance(command, str) and not (args.keys() - {"command", "timeout"}):
        yield command
    elif len(args) > 1:
        yield json.dumps(args, indent=2, ensure_ascii=False)
    else:
        yield gist_of_call(args)


def _split(text: str) -> list[str]:
    return text.split("\n") if text else []
