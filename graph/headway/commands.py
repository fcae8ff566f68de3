"""Shell commands read as words, without a shell (pure).

Two readings with opposite caution: `plain_words` gives the words only of what is surely one plain
command; `simple_commands` finds every part of a compound one, rather one too many.
"""

import re
import shlex
from collections.abc import Iterator, Sequence
from pathlib import PurePosixPath
from typing import Final

_WORD: Final = r"""(?:[A-Za-z0-9_./:=,@%+\-]|'[^'\x00-\x1f\x7f]*'|"[^"$`\\!\x00-\x1f\x7f]*")+"""
"""Characters that a shell takes as they are, and quotes in which nothing is replaced."""
_PLAIN: Final = re.compile(rf"[ \t]*{_WORD}(?:[ \t]+{_WORD})*[ \t\n]*")
_OPERATORS: Final = "();<>|&\n"
_SUBSTITUTION: Final = re.compile(r"\$\(|`|<\(|>\(")


def plain_words(command: str) -> list[str] | None:
    """The words of one plain command, exactly as a shell passes them on; else None.

    Nothing in it is an operator, a redirection, an assignment, a variable, a glob, a brace, a
    tilde, an escape, a comment or a control character.
    """
    if not _PLAIN.fullmatch(command):
        return None
    words = shlex.split(command)
    return None if not words[0] or "=" in words[0] else words


def program(word: str) -> str:
    """The name of a program without its folder and version: `/usr/bin/python3.12` is `python`."""
    name = PurePosixPath(word).name
    return re.sub(r"[\d.]+$", "", name) or name


def has_option(args: Sequence[str], options: Sequence[str]) -> bool:
    """Whether any of `options` is among `args`.

    `--long` also abbreviated or with a value, `-x` also inside a bundle or with its value
    attached, `-name` (as find has them) and plain words as they are.
    """
    return any(_is_option(arg, option) for arg in args for option in options)


def _is_option(arg: str, option: str) -> bool:
    if option.startswith("--"):
        name = arg.partition("=")[0]
        return len(name) > 2 and name.startswith("--") and option.startswith(name)
    if re.fullmatch(r"-\w", option):
        return re.match(r"-[^-]", arg) is not None and option[1] in arg[1:]
    return arg.partition("=")[0] == option


def simple_commands(command: str) -> Iterator[list[str]]:
    """The words of each simple command in a compound one, as far as words show it; what stands in
    substitutions counts as commands of their own. Parts may come twice, and as more than they
    are: quoted operators and the lines of a here-document count, too."""
    text = re.sub(r"\\\n", "", command)
    text = re.sub(r"\$\{?IFS\b\}?", " ", text)
    yield from _split(text)
    if _SUBSTITUTION.search(text):
        yield from _split(re.sub(r"""["`)]|\$\(|[<>]\(""", "\n", text))


def _split(text: str) -> Iterator[list[str]]:
    lexer = shlex.shlex(text, posix=True, punctuation_chars=_OPERATORS)
    lexer.whitespace, lexer.commenters, lexer.whitespace_split = " \t\r", "", True
    words: list[str] = []
    try:
        for token in lexer:
            if token and set(token) <= set(_OPERATORS):
                yield words
                words = []
            else:
                words += _expanded(token) if not words else [token]
    except ValueError:
        yield from (part.split() for part in re.split(rf"[{_OPERATORS}]", text))
    yield words


def _expanded(word: str) -> list[str]:
    """`{rm,-rf,x}` in the place of a command as the words that a shell makes of it."""
    return word[1:-1].split(",") if re.fullmatch(r"\{.*,.*\}", word) else [word]
