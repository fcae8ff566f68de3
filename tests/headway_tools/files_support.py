"""Shared by the tests of the file tools."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from headway_tools.edit import edit
from headway_tools.errors import ToolFailure
from headway_tools.read_file import read
from headway_tools.workspace import Workspace

NOBODY = 65534


def edit_result(workspace: Workspace, path: str, old_text: str, new_text: str) -> dict[str, object]:
    """What the model would see of an edit, refusals included."""
    try:
        return edit(workspace, path, old_text, new_text)
    except ToolFailure as failure:
        return failure.as_result()


def read_result(
    workspace: Workspace, path: str, start: int = 1, limit: int = 250
) -> dict[str, object]:
    """What the model would see of a read, refusals included."""
    try:
        return read(workspace, path, start, limit)
    except ToolFailure as failure:
        return failure.as_result()


def workspace_at(folder: Path) -> Workspace:
    return Workspace(folder, folder)


@contextmanager
def unprivileged() -> Iterator[None]:
    """As root, act as a user without rights; an ordinary user is one already."""
    if os.geteuid() != 0:
        yield
        return
    os.setegid(NOBODY)
    os.seteuid(NOBODY)
    try:
        yield
    finally:
        os.seteuid(0)
        os.setegid(0)
