"""edit: one unique fragment of a file for another, or a new file. Every other byte stays."""

import asyncio
import os
from contextlib import suppress
from dataclasses import dataclass
from threading import Lock
from typing import Final

from langchain_core.tools import BaseTool, StructuredTool
from pydantic import BaseModel, ConfigDict, Field

from headway_tools.beneath import Place
from headway_tools.edits import Change, Edit, describe, plan_edit, preview
from headway_tools.env import current_workspace
from headway_tools.errors import ToolFailure
from headway_tools.files import WHOLE_LIMIT, digest, open_regular, read_whole
from headway_tools.kinds import declare
from headway_tools.links import names_of
from headway_tools.replace import (
    AttributesError,
    ChangedError,
    create_file,
    replace_file,
    write_in_place,
)
from headway_tools.results import told
from headway_tools.text import UTF8, Encoding, binary_kind, detect, unescape_bytes
from headway_tools.workspace import Workspace

DESCRIPTION: Final = (
    "Replace old_text, which must occur exactly once in the file, with new_text. Nothing else in "
    "the file changes. With an empty old_text: create the file with new_text."
)
_TRIES: Final = 8
_lock = Lock()


class EditArgs(BaseModel):
    """What the model sends to edit."""

    model_config = ConfigDict(extra="forbid")

    path: str = Field(description="file, relative to the workspace")
    old_text: str = Field(
        description="text to replace, copied exactly, without read_file's line numbers; "
        "empty to create a file"
    )
    new_text: str = Field(description="text to put there; empty to delete old_text")


def edit_tool() -> BaseTool:
    """The edit tool; it works on the workspace of the running tool call."""
    tool = StructuredTool.from_function(
        func=_run, coroutine=_arun, name="edit", description=DESCRIPTION, args_schema=EditArgs
    )
    return declare(tool, "write", own=True)


def _run(path: str, old_text: str, new_text: str) -> str:
    return told(edit(current_workspace(), path, old_text, new_text))


async def _arun(path: str, old_text: str, new_text: str) -> str:
    return await asyncio.to_thread(_run, path, old_text, new_text)


def edit(workspace: Workspace, path: str, old: str, new: str) -> dict[str, object]:
    """The result of edit; `ToolFailure`, and no byte changed, for everything else.

    Edits of one process run one after another. A foreign writer in between makes the edit start
    anew from what it finds; after eight times it gives up with code `changed`.
    """
    with _lock:
        for _ in range(_TRIES):
            with suppress(ChangedError):
                return _edit_once(workspace, path, old, new)
    raise ToolFailure("changed", f"{path} is being changed by another process", "read it again")


def _edit_once(workspace: Workspace, path: str, old: str, new: str) -> dict[str, object]:
    if not old and (created := _create(workspace, path, new)):
        return created
    with workspace.place(path, writing=True) as place, open_regular(place, os.O_RDWR) as handle:
        document = _load(place, handle)
        if old:
            planned = _plan(workspace, place.path, document, *_as_read(document, old, new))
        else:
            planned = _fill(place.path, document, new)
        after = _encoded(document.encoding, planned.apply(document.text), place.path)
        notes = _store(workspace, place, handle, document.data, after)
    workspace.reads[place.path] = digest(after)
    return _result(place.path, document.text, planned) | notes


@dataclass(frozen=True)
class _Document:
    data: bytes
    encoding: Encoding
    text: str


def _create(workspace: Workspace, path: str, new: str) -> dict[str, object] | None:
    """The result for a new file; None where there is one already."""
    content = _encoded(UTF8, new, path)
    if path.endswith("/"):
        raise ToolFailure("is_a_directory", f"{path} names a folder", "name a file in it")
    with workspace.place(path, writing=True, make_parents=True) as place:
        try:
            place.stat()
        except FileNotFoundError:
            create_file(place, content)
        else:
            return None
    workspace.reads[place.path] = digest(content)
    lines = new.count("\n") + (not new.endswith("\n") and new != "")
    return {"ok": True, "path": place.path, "created": True, "lines_added": lines}


def _load(place: Place, handle: int) -> _Document:
    data = read_whole(handle)
    if len(data) > WHOLE_LIMIT:
        raise ToolFailure(
            "too_large",
            f"{place.path} has more than {WHOLE_LIMIT} bytes",
            "change it with a command",
        )
    encoding = detect(data)
    if encoding is None:
        raise ToolFailure(
            "binary", f"{place.path} is binary ({binary_kind(data)})", "use a command for it"
        )
    text = encoding.decode(data)
    if encoding.encode(text) != data:
        raise ToolFailure(
            "encoding", f"{place.path} is no clean {encoding.name}", "change it with a command"
        )
    return _Document(data, encoding, text)


def _as_read(document: _Document, old: str, new: str) -> tuple[str, str]:
    """A fragment that holds what read_file shows for undecodable bytes means those bytes."""
    meant = unescape_bytes(old)
    if meant == old or old in document.text or meant not in document.text:
        return old, new
    return meant, unescape_bytes(new)


def _plan(workspace: Workspace, path: str, document: _Document, old: str, new: str) -> Edit:
    try:
        return plan_edit(document.text, old, new)
    except ToolFailure as failure:
        seen = workspace.reads.get(path)
        if failure.code != "no_match" or seen is None or seen == digest(document.data):
            raise
        raise ToolFailure(
            "changed",
            f"{path} changed since you read it, and {failure.message}",
            "read it again",
            **failure.details,
        ) from failure


def _fill(path: str, document: _Document, new: str) -> Edit:
    if document.text:
        raise ToolFailure(
            "exists",
            f"{path} exists and is not empty",
            "send the part to replace as old_text, or choose another path",
        )
    if not new:
        raise ToolFailure("no_change", f"{path} is empty already", "go on")
    return Edit(0, 0, new)


def _encoded(encoding: Encoding, text: str, path: str) -> bytes:
    try:
        return encoding.encode(text)
    except UnicodeEncodeError as error:
        character = f"U+{ord(text[error.start]):04X}"
        raise ToolFailure(
            "encoding",
            f"{path} is {encoding.name}, which has no {character}",
            "use characters of that encoding, or convert the file with a command first",
        ) from error


def _store(
    workspace: Workspace, place: Place, handle: int, before: bytes, after: bytes
) -> dict[str, object]:
    """Write, and say what the model should know about how."""
    info = os.fstat(handle)
    if info.st_nlink > 1:
        names = names_of(workspace.root, info)
        if len(names) < info.st_nlink:
            raise ToolFailure(
                "hard_link",
                f"{place.path} is one of {info.st_nlink} hard links to the same content, "
                f"{info.st_nlink - len(names)} of them outside the workspace",
                "make it a file of its own first: copy it and move the copy over it",
            )
        write_in_place(place, handle, before, after)
        return {"hard_links": [name for name in names if name != place.path]}
    try:
        replace_file(place, handle, before, after)
    except (AttributesError, PermissionError):
        write_in_place(place, handle, before, after)
    return {}


def _result(path: str, text: str, planned: Edit) -> dict[str, object]:
    change: Change = describe(text, planned)
    return {
        "ok": True,
        "path": path,
        "line": change.line,
        "lines_removed": change.lines_removed,
        "lines_added": change.lines_added,
        "preview": preview(planned.apply(text), change),
    }
