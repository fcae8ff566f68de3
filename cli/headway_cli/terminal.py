"""Text for a terminal: hostile characters made visible, lines cut to the width, colour if wanted.

Model and tool output is hostile: nothing of it reaches a terminal without `visible`.
"""

import os
import sys
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Literal, TextIO

Colour = Literal["bold", "dim", "red", "green", "yellow", "cyan"]

_CODES: Final[dict[Colour, str]] = {
    "bold": "1",
    "dim": "2",
    "red": "31",
    "green": "32",
    "yellow": "33",
    "cyan": "36",
}
_UNSAFE: Final = frozenset({"Cc", "Cf", "Cs", "Co", "Zl", "Zp"})
"""Controls, format characters (direction overrides among them), surrogates, line separators."""
_JOINERS: Final = frozenset("\u200c\u200d\ufe0f")
MIN_WIDTH: Final = 20
LEAST_ROW: Final = 80
"""Columns of a table's line that are never cut off: a narrower terminal wraps them."""
FALLBACK: Final = 80
"""Columns of a terminal that does not know its own."""


@dataclass(frozen=True)
class Terminal:
    """How wide lines may be, and whether control codes are welcome."""

    width: int = 80
    colour: bool = False


def terminal_of(stream: TextIO, environ: Mapping[str, str] | None = None) -> Terminal:
    """What `stream` can show: `NO_COLOR`, `FORCE_COLOR`, `TERM=dumb` and `COLUMNS` are honoured.
    What is no terminal takes lines of any length."""
    env = os.environ if environ is None else environ
    colour = stream.isatty() and env.get("TERM") != "dumb"
    if env.get("FORCE_COLOR"):
        colour = True
    if env.get("NO_COLOR"):
        colour = False
    return Terminal(_width_of(stream, env), colour)


def _width_of(stream: TextIO, environ: Mapping[str, str]) -> int:
    given = environ.get("COLUMNS", "")
    if given.isdecimal() and int(given):
        return max(int(given), MIN_WIDTH)
    if not stream.isatty():
        return sys.maxsize
    try:
        known = os.get_terminal_size(stream.fileno()).columns
    except OSError:
        known = 0
    return max(known or FALLBACK, MIN_WIDTH)


def visible(text: str) -> str:
    r"""`text` with every unsafe character written as an escape; newlines stay, tabs are four
    spaces, `\r\n` is a newline."""
    plain = text.replace("\r\n", "\n").expandtabs(4)
    if plain.isascii() and plain.replace("\n", "").isprintable():
        return plain
    return "".join(_shown(character) for character in plain)


def one_line(text: str) -> str:
    """`visible` text on one line, runs of white space as one space."""
    return visible(" ".join(text.split()))


def path_text(path: str) -> str:
    """A path on one line with nothing lost: newlines and tabs in it are escapes, too."""
    return "".join("\\n" if character == "\n" else _shown(character) for character in path)


def clip(text: str, width: int) -> str:
    """`text` within `width` columns; `…` marks what was cut."""
    if _columns(text) <= width:
        return text
    kept, used = "", 1
    for character in text:
        used += _columns(character)
        if used > width:
            break
        kept += character
    return kept + "…"


def row(text: str, width: int) -> str:
    """A table's line within `width` columns, but no less than `LEAST_ROW`."""
    return clip(text, max(width, LEAST_ROW))


def paint(text: str, colour: Colour, terminal: Terminal) -> str:
    """`text` in `colour`, unchanged where the terminal takes none."""
    return f"\x1b[{_CODES[colour]}m{text}\x1b[0m" if terminal.colour and text else text


def _shown(character: str) -> str:
    if character == "\n" or character in _JOINERS:
        return character
    if unicodedata.category(character) not in _UNSAFE:
        return character
    return character.encode("unicode_escape").decode("ascii")


def _columns(text: str) -> int:
    if text.isascii():
        return len(text)
    return sum(_width(character) for character in text)


def _width(character: str) -> int:
    if unicodedata.combining(character) or character in _JOINERS:
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1
