"""The record of a thread: how it was started, so that it can go on with the same settings."""

import json
import os
import re
import secrets
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from headway.status import Status
from headway_tools.errors import HeadwayError
from headway_tools.home import Home

RECORD_VERSION = 1


class ThreadRecord(BaseModel):
    """What `headway resume` needs besides the checkpoints. No key is ever in it."""

    model_config = ConfigDict(extra="ignore")

    version: int = RECORD_VERSION
    thread: str
    task: str
    workspace: str | None = None
    root: str | None = None
    """The real folder, for a copy."""
    model: str | None = None
    options: dict[str, Any] = Field(default_factory=dict)
    """The plain ones of `headway.build.Options`."""
    status: Status | None = None
    """Of the newest run; None while one is under way, or after a crash."""
    created: str = ""
    updated: str = ""


def new_thread_id(task: str) -> str:
    """A name to type: words of the task and four random characters."""
    words = re.sub(r"[^a-z0-9]+", "-", task.lower()).strip("-")
    start = words[:24].rsplit("-", 1)[0] if len(words) > 24 else words
    return f"{start or 'thread'}-{secrets.token_hex(2)}"


def save_record(home: Home, record: ThreadRecord) -> None:
    """Write the record atomically."""
    folder = home.make().thread(record.thread).make()
    now = datetime.now(UTC).isoformat(timespec="seconds")
    stamped = record.model_copy(update={"created": record.created or now, "updated": now})
    temporary = folder.record.with_suffix(f".{os.getpid()}.tmp")
    try:
        temporary.write_text(stamped.model_dump_json(indent=1))
        temporary.chmod(0o600)
        temporary.replace(folder.record)
    except OSError as error:
        raise HeadwayError(
            f"cannot write headway's data folder {folder.path}: {error.strerror}"
        ) from error


def update_record(home: Home, thread: str, **changes: Any) -> None:
    """Change some fields of the record as it is now: other branches write it too."""
    save_record(home, load_record(home, thread).model_copy(update=changes))


def load_record(home: Home, thread: str) -> ThreadRecord:
    """The record of exactly this thread."""
    return _read(home.thread(thread).record, thread)


def records(home: Home) -> list[ThreadRecord]:
    """All threads, the newest first. Unreadable records are left out."""
    found = []
    for path in home.threads.glob("*/thread.json"):
        try:
            found.append(_read(path, path.parent.name))
        except HeadwayError:
            continue
    return sorted(found, key=lambda record: record.updated, reverse=True)


def find_record(home: Home, given: str | None, workspace: Path | None = None) -> ThreadRecord:
    """A thread by its name, by a unique beginning of it, or (None or "-") the newest one of
    `workspace`, else the newest of all."""
    known = records(home)
    if given in (None, "-"):
        here = [r for r in known if workspace is not None and r.workspace == str(workspace)]
        if not known:
            raise HeadwayError("no thread yet: start one with `headway run` or `headway demo`")
        return (here or known)[0]
    matches = [r for r in known if r.thread == given] or [
        r for r in known if r.thread.startswith(str(given))
    ]
    if len(matches) == 1:
        return matches[0]
    names = ", ".join(r.thread for r in matches[:5])
    hint = f"several threads begin so: {names}" if matches else "`headway threads` lists them"
    raise HeadwayError(f"no thread is named {given!r}; {hint}")


def _read(path: Path, thread: str) -> ThreadRecord:
    try:
        data = json.loads(path.read_text())
    except FileNotFoundError:
        raise HeadwayError(f"no thread is named {thread!r}; `headway threads` lists them") from None
    except (OSError, ValueError) as error:
        raise HeadwayError(f"the record {path} cannot be read: {error}") from error
    if isinstance(data, dict) and data.get("version", 0) > RECORD_VERSION:
        raise HeadwayError(f"thread {thread} was written by a newer headway; upgrade to use it")
    try:
        return ThreadRecord.model_validate(data)
    except ValidationError as error:
        raise HeadwayError(
            f"the record {path} cannot be read: {error.errors()[0]['msg']}"
        ) from error
