"""`read_output`: the rest of a shortened result, by lines, by characters, or by a fixed text.

Pages are slices of the recorded content, so joined they are the content, byte for byte. A page is
bounded as it stands in the JSON result, hence never shortened again.
"""

import json
from dataclasses import dataclass
from typing import Annotated, Any, Final

from langchain_core.tools import BaseTool
from langchain_core.tools import tool as make_tool
from pydantic import Field

from headway_tools.blocks import PAGE_CHARACTERS, READ_OUTPUT, blocks_text
from headway_tools.env import current_env
from headway_tools.errors import ToolFailure
from headway_tools.kinds import declare
from headway_tools.results import observation
from headway_tools.values import line_count

PAGE_LINES: Final = 200
"""Lines of a page where the call names no number."""

MATCHES: Final = 20
"""Places shown by one search."""

_AROUND: Final = 120
"""Characters shown before and after a match, within its line and its neighbours."""


def read_output_tool() -> BaseTool:
    """The tool `read_output`; it reads this thread's journal only."""
    return declare(make_tool(READ_OUTPUT)(_read_output), "read", idempotent=True, own=True)


def _read_output(
    id: Annotated[str, Field(description="the output id that the shortened result names")],
    start: Annotated[int | None, Field(description="first line to show, from 1")] = None,
    lines: Annotated[int | None, Field(description="how many lines to show at most")] = None,
    offset: Annotated[
        int | None, Field(description="first character to show, from 0, instead of a line")
    ] = None,
    text: Annotated[
        str | None, Field(description="show the places that hold exactly this text, from start on")
    ] = None,
    field: Annotated[
        str | None, Field(description="read this text field of a JSON result, not its JSON")
    ] = None,
) -> str:
    """Read on in the whole of a result that was shortened, or find a text in it.

    Without start, offset and text it shows the beginning. Each page says where the next begins.
    """
    whole = _whole(id, field)
    place = {"id": id} | ({"field": field} if field is not None else {})
    if text is not None:
        return observation({"ok": True, **place, **_search(whole, text, start, offset)})
    return observation({"ok": True, **place, **_page(whole, start, lines, offset)})


def _whole(output: str, field: str | None) -> str:
    content = current_env().journal.read(output)
    if field is None:
        return content if isinstance(content, str) else blocks_text(content)
    value = _parsed(content)
    for name in field.split("."):
        value = value.get(name) if isinstance(value, dict) else None
    if not isinstance(value, str):
        raise ToolFailure(
            "invalid_arguments",
            f"output {output!r} has no text field {field!r}",
            "leave field out to read the result as it is recorded",
        )
    return value


def _parsed(content: str | list[Any]) -> Any:
    if not isinstance(content, str):
        return None
    try:
        return json.loads(content)
    except (ValueError, RecursionError):
        return None


def _page(
    whole: str, start: int | None, lines: int | None, offset: int | None
) -> dict[str, object]:
    first = _offset(whole, start, offset)
    by_line = offset is None or lines is not None
    count = PAGE_LINES if lines is None else max(lines, 1)
    end = _fitting(whole, first, _lines_end(whole, first, count, by_line=by_line))
    page: dict[str, object] = {
        "content": whole[first:end],
        "line": whole.count("\n", 0, first) + 1,
        "offset": first,
        "total_lines": line_count(whole),
        "total_characters": len(whole),
    }
    if end < len(whole):
        page["next"] = _position(whole, end)
    return page


def _offset(whole: str, start: int | None, offset: int | None) -> int:
    """The place named by `offset` or else by line `start`; `past_end` behind the end."""
    if offset is not None:
        if 0 <= offset < max(len(whole), 1):
            return offset
        raise _past_end(f"offset {offset}", whole)
    place = 0
    for _ in range((start or 1) - 1):
        place = whole.find("\n", place) + 1
        if place in (0, len(whole)):
            raise _past_end(f"line {start}", whole)
    return place


def _past_end(place: str, whole: str) -> ToolFailure:
    return ToolFailure(
        "past_end",
        f"there is no {place}: the output has {line_count(whole)} lines, {len(whole)} characters",
        "choose a place before the end",
    )


def _lines_end(whole: str, first: int, count: int, *, by_line: bool) -> int:
    """Where `count` lines from `first` end; a page by characters runs on to the limit."""
    if not by_line:
        return min(first + PAGE_CHARACTERS, len(whole))
    end = first
    for _ in range(count):
        found = whole.find("\n", end)
        if found < 0:
            return len(whole)
        end = found + 1
        if end - first > PAGE_CHARACTERS:
            break
    return end


def _fitting(whole: str, first: int, end: int) -> int:
    """The largest end up to `end` whose page fits, back to a line end where there is one."""
    page = whole[first : min(end, first + PAGE_CHARACTERS)]
    low, high = 1, len(page)
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (
            (middle, high) if _shown(page[:middle]) <= PAGE_CHARACTERS else (low, middle - 1)
        )
    if first + high == end:
        return end
    line_end = page.rfind("\n", 0, high) + 1
    return first + (line_end or high)


def _shown(text: str) -> int:
    return len(observation({"": text})) - 8


def _position(whole: str, place: int) -> dict[str, int]:
    """How to name `place` in the next call: by line where one begins there."""
    if place == 0 or whole[place - 1] == "\n":
        return {"start": whole.count("\n", 0, place) + 1}
    return {"offset": place}


@dataclass(frozen=True)
class _Match:
    line: int
    offset: int
    context: str

    def shown(self) -> dict[str, object]:
        return {"line": self.line, "offset": self.offset, "content": self.context}


def _search(whole: str, text: str, start: int | None, offset: int | None) -> dict[str, object]:
    if not text:
        raise ToolFailure("invalid_arguments", "text is empty", "name the text to find")
    first = _offset(whole, start, offset)
    found, rest = _matches(whole, text, first)
    total = whole.count(text, first)
    result: dict[str, object] = {
        "text": text if len(text) <= _AROUND else text[:_AROUND] + "…",
        "lines_with_it": [match.shown() for match in found],
        "occurrences": total,
        "total_lines": line_count(whole),
    }
    if rest is not None:
        result["next"] = {"offset": rest}
    return result


def _matches(whole: str, text: str, first: int) -> tuple[list[_Match], int | None]:
    """Up to `MATCHES` places, one per line and neighbourhood, and where a next search begins."""
    found: list[_Match] = []
    room, line, counted = PAGE_CHARACTERS - 2 * _AROUND, 1, 0
    place = whole.find(text, first)
    while place >= 0:
        line, counted = line + whole.count("\n", counted, place), place
        match = _Match(line, place, _context(whole, place, len(text)))
        room -= _shown(match.context) + 50
        if len(found) == MATCHES or (found and room < 0):
            return found, place
        found.append(match)
        place = whole.find(text, _behind(whole, place, len(text)))
    return found, None


def _context(whole: str, place: int, length: int) -> str:
    """The match with its line and the lines next to it, each side within `_AROUND` characters."""
    low = max(place - _AROUND, 0)
    before = whole[low:place].split("\n")[-2:]
    after = whole[place : place + min(length, _AROUND) + _AROUND].split("\n")[:2]
    return "\n".join(before) + "\n".join(after)


def _behind(whole: str, place: int, length: int) -> int:
    """The end of the match's line, or of what its context showed of a very long one."""
    near = place + length + _AROUND
    found = whole.find("\n", place + length, near)
    return near if found < 0 else found
