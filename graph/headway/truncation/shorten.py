"""The way of every observation into the conversation: whatever a tool returned, within limits."""

import json
from contextlib import suppress
from typing import Any, Final, overload

from headway.truncation.limits import Room, Truncation, limits_for
from headway.truncation.notice import MARK, Source
from headway.truncation.structured import PARSED, parse, shorten_ends, shorten_value
from headway.truncation.text import shorten_text
from headway_tools.blocks import READ_OUTPUT, RESULT_CHARACTERS, blocks_text, is_media
from headway_tools.values import clean_text, plain

VERBATIM: Final = frozenset({READ_OUTPUT, "read_file"})
"""Tools whose text the model quotes in edits: control bytes and carriage returns are its content,
not a terminal's."""

MEDIA_CHARACTERS: Final = 2_000_000
"""Encoded images and files of one result that are shown; more is left out."""


@overload
def shorten(
    content: str, *, limits: Truncation, output: str, name: str, tools: frozenset[str]
) -> str: ...
@overload
def shorten(
    content: list[Any], *, limits: Truncation, output: str, name: str, tools: frozenset[str]
) -> list[Any]: ...
def shorten(
    content: str | list[Any], *, limits: Truncation, output: str, name: str, tools: frozenset[str]
) -> str | list[Any]:
    """What the model sees of a result of tool `name`, recorded as `output` ("" = nowhere).

    Head and tail on line, then character boundaries, lines of failures from between, counts of
    what is left out; `tools` are the bound ones, so the notice names no other. JSON stays JSON.
    Idempotent. Limits of None leave all but unsendable characters as it is.
    """
    found = limits_for(name, limits)
    if found is None or (name == READ_OUTPUT and len(content) <= RESULT_CHARACTERS):
        return clean_text(content) if isinstance(content, str) else list(plain(content))
    source = Source(output, None, bool(output) and READ_OUTPUT in tools)
    if isinstance(content, str):
        return _text(content, found.room, source, terminal=name not in VERBATIM)
    return _blocks(list(plain(content)), found.room, source, terminal=name not in VERBATIM)


def _text(content: str, room: Room, source: Source, *, terminal: bool) -> str:
    value = parse(content)
    if value is not None:
        with suppress(RecursionError):  # parsed, yet too deep to walk: then it is text
            return shorten_value(content, value, room, source, terminal=terminal)
    if len(content) > PARSED and content[0] == "{" and content.endswith("}"):
        return shorten_ends(content, room, source)
    return shorten_text(content, room, source, terminal=terminal)


def _blocks(blocks: list[Any], room: Room, source: Source, *, terminal: bool) -> list[Any]:
    """The blocks as they are, or their text as one shortened block before the media that fit."""
    media, notes = _media(blocks)
    text = blocks_text(blocks)
    below = "".join(f"\n{note}" for note in notes)
    reserved = Room(room.characters - len(below), room.lines - len(notes))
    shown = _text(text, reserved, source, terminal=terminal) + below
    if shown == text:
        return blocks
    return [{"type": "text", "text": shown.lstrip("\n")}, *media]


def _media(blocks: list[Any]) -> tuple[list[Any], list[str]]:
    """The media blocks that fit `MEDIA_CHARACTERS`, and what is left out, summed up in one line."""
    kept: list[Any] = []
    left, out, size = MEDIA_CHARACTERS, 0, 0
    for block in blocks:
        if is_media(block):
            length = len(json.dumps(block))
            fits = length <= left
            kept += [block] if fits else []
            left, out, size = left - length * fits, out + (not fits), size + length * (not fits)
    return kept, [f"{MARK}{out} images or files left out, {size} characters …]"] if out else []
