"""read_file: a page of numbered lines of a text file, or the names in a folder."""

import asyncio
import codecs
import os
import stat
from collections.abc import Iterator
from dataclasses import replace
from itertools import accumulate, islice
from typing import Final

from langchain_core.tools import BaseTool, StructuredTool
from pydantic import BaseModel, ConfigDict, Field

from headway_tools.beneath import Place
from headway_tools.env import current_workspace
from headway_tools.errors import ToolFailure
from headway_tools.files import WHOLE_LIMIT, digest, open_regular, read_chunks, read_whole
from headway_tools.kinds import declare
from headway_tools.pages import Page, paginate
from headway_tools.results import told
from headway_tools.text import Encoding, binary_kind, detect, newline_style
from headway_tools.workspace import Workspace

SCAN_LIMIT: Final = 128 * 2**20
"""Bytes of a large file within which lines are counted and found."""
MOST_LINES: Final = 250
_SLICE: Final = 2**16
_MOST_LISTED: Final = 8_000
"""Characters of a folder's names in one result."""
_MOST_SCANNED: Final = 10_000

DESCRIPTION: Final = (
    "Read a text file as numbered lines (number, tab, text; numbers as `grep -n` counts). "
    "A folder is answered with its names. Long files come in pages: go on at `next_start`."
)


class ReadFileArgs(BaseModel):
    """What the model sends to read_file."""

    model_config = ConfigDict(extra="forbid")

    path: str = Field(description="file or folder, relative to the workspace")
    start: int = Field(
        default=1, description="first line, counted from 1; -50 means the last 50 lines"
    )
    limit: int = Field(
        default=MOST_LINES, ge=1, description=f"lines to return, at most {MOST_LINES}"
    )


def read_file_tool() -> BaseTool:
    """The read_file tool; it works on the workspace of the running tool call."""
    tool = StructuredTool.from_function(
        func=_run,
        coroutine=_arun,
        name="read_file",
        description=DESCRIPTION,
        args_schema=ReadFileArgs,
    )
    return declare(tool, "read", idempotent=True, own=True)


def _run(path: str, start: int = 1, limit: int = MOST_LINES) -> str:
    return told(read(current_workspace(), path, start, limit))


async def _arun(path: str, start: int = 1, limit: int = MOST_LINES) -> str:
    return await asyncio.to_thread(_run, path, start, limit)


def read(
    workspace: Workspace, path: str, start: int = 1, limit: int = MOST_LINES
) -> dict[str, object]:
    """The result of read_file; `ToolFailure` for what cannot be shown.

    `start` 0 is taken as 1, a negative one counts from the end; past the end is an error. A
    larger `limit` than `MOST_LINES` is taken as that.
    """
    limit = min(limit, MOST_LINES)
    with workspace.place(path) as place:
        if stat.S_ISDIR(place.stat().st_mode):
            return _listing(place)
        with open_regular(place, os.O_RDONLY) as handle:
            size = os.fstat(handle).st_size
            if size > WHOLE_LIMIT:
                return _read_large(handle, place.path, size, start, limit)
            data = read_whole(handle)
    encoding = _encoding(data, place.path, size)
    text = encoding.decode(data)
    workspace.reads[place.path] = digest(data)
    slices = (text[at : at + _SLICE] for at in range(0, len(text), _SLICE))
    total = text.count("\n") + (not text.endswith("\n") and text != "")
    page = paginate(slices, _first_line(start, total), limit)
    return _result(place.path, page, encoding, newline_style(text))


def _read_large(handle: int, path: str, size: int, start: int, limit: int) -> dict[str, object]:
    sample = next(read_chunks(handle, _SLICE))
    encoding = replace(_encoding(sample, path, size, complete=False), errors="backslashreplace")
    seen_all = size <= SCAN_LIMIT
    if start < 0 and seen_all:
        start = _first_line(start, paginate(_decoded(handle, encoding), 1, 0).total)
    page = paginate(_decoded(handle, encoding), _first_line(start, 0), limit)
    if not seen_all and (start < 0 or not page.lines):
        raise ToolFailure(
            "too_large",
            f"{path} has {size} bytes; only the lines in its first {SCAN_LIMIT} are read here",
            "use a command, such as tail or sed -n",
            lines_within_reach=page.total,
        )
    result = _result(path, page, encoding, newline_style(encoding.decode(sample)))
    return result if seen_all else result | {"lines": f"more than {page.total}", "bytes": size}


def _decoded(handle: int, encoding: Encoding) -> Iterator[str]:
    decoder = codecs.getincrementaldecoder(encoding.codec)(encoding.errors)
    skip = len(encoding.bom)
    for chunk in read_chunks(handle, SCAN_LIMIT):
        yield decoder.decode(chunk[skip:])
        skip = 0


def _encoding(data: bytes, path: str, size: int, *, complete: bool = True) -> Encoding:
    encoding = detect(data, complete=complete)
    if encoding is None:
        raise ToolFailure(
            "binary",
            f"{path} is binary ({binary_kind(data)}), {size} bytes",
            "use a command for it",
        )
    return encoding


def _first_line(start: int, total: int) -> int:
    return max(1, start if start >= 0 else total + start + 1)


def _result(path: str, page: Page, encoding: Encoding, newline: str) -> dict[str, object]:
    if page.total and page.start > page.total:
        raise ToolFailure(
            "past_end",
            f"{path} has {page.total} lines, line {page.start} is past its end",
            f"start between 1 and {page.total}",
            lines=page.total,
        )
    result: dict[str, object] = {"ok": True, "path": path, "lines": page.total}
    if encoding.name != "utf-8":
        result["encoding"] = encoding.name
    if newline != "lf":
        result["newline"] = newline
    if not page.total:
        return result | {"note": "the file is empty", "text": ""}
    result |= {"start": page.start, "end": page.end}
    if page.end < page.total:
        result["next_start"] = page.end + 1
    return result | {"text": "\n".join(page.lines)}


def _listing(place: Place) -> dict[str, object]:
    handle = place.open(os.O_RDONLY | os.O_DIRECTORY)
    try:
        with os.scandir(handle) as entries:
            names = sorted(_name(entry) for entry in islice(entries, _MOST_SCANNED))
    finally:
        os.close(handle)
    shown = names[: sum(size <= _MOST_LISTED for size in accumulate(len(n) + 4 for n in names))]
    result: dict[str, object] = {"ok": True, "path": place.path, "entries": shown}
    if len(names) > len(shown):
        more = "at least " if len(names) == _MOST_SCANNED else ""
        result["not_shown"] = f"{more}{len(names) - len(shown)} more"
    return result


def _name(entry: os.DirEntry[str]) -> str:
    return entry.name + "/" if entry.is_dir(follow_symlinks=False) else entry.name
