"""The record of a thread: how it was started, so that it can go on with the same settings."""

import json
import re
import secrets
from collections.abc import Mapping
from dataclasses import asdict
from datetime import UTC, datetime
from difflib import get_close_matches
from pathlib import Path
from typing import Any, Final, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator

from headway.heads import MAIN
from headway.limits import Limits
from headway.models.retry import RetryPolicy
from headway.progress import ProgressSettings
from headway.status import Status
from headway.truncation import TruncationLimits
from headway_tools.errors import HeadwayError
from headway_tools.home import Home, absolute
from headway_tools.locks import is_held
from headway_tools.notes import write_note

RECORD_VERSION = 1

Moved = Literal["", "forked", "restored", "undone"]


_OBJECTS: Final = frozenset(
    {"api_key", "home", "storage", "workspace", "root", "verify", "response_format"}
)
"""Options that no record keeps: keys, functions, and what stands elsewhere in it."""


class Kept(BaseModel):
    """What the runs of one branch are started with."""

    model: str | None = None
    """A script's file by its absolute path."""
    options: dict[str, Any] = Field(default_factory=dict)
    """The plain ones of `headway.build.Options`."""

    @field_validator("model")
    @classmethod
    def _same_in_every_folder(cls, model: str | None) -> str | None:
        provider, _, path = (model or "").partition(":")
        return f"{provider}:{absolute(path)}" if provider == "scripted" else model


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
    """As in `Kept`, of the original line."""
    branches: dict[str, Kept] = Field(default_factory=dict)
    """Of branches that have their own."""
    status: Status | None = None
    """Of the newest run, or of the run that a verb went back to the end of; None while one is
    under way, after a crash, and where a verb went to the middle of one."""
    moved: Moved = ""
    """The verb that went to where no run has ended."""
    left: str = ""
    """Snapshot of the files as a run that was stopped in the middle of a step left them."""
    created: str = ""
    updated: str = ""

    def kept(self, branch: str) -> Kept:
        """What a branch is started with: its own, else that of the original line."""
        return self.branches.get(branch) or Kept(model=self.model, options=self.options)

    def keeping(self, branch: str, kept: Kept) -> "ThreadRecord":
        """With `kept` for a branch."""
        if branch == MAIN:
            return self.model_copy(update={"model": kept.model, "options": kept.options})
        return self.model_copy(update={"branches": {**self.branches, branch: kept}})


def word_for(home: Home, record: ThreadRecord) -> str:
    """How a thread stands, in a word: how its newest run ended, `running`, the verb that left it
    in the middle of a run (`forked`, `restored`, `undone`), or `unfinished` after a crash."""
    if record.status is not None:
        return record.status
    if is_held(home.thread(record.thread)):
        return "running"
    return record.moved or "unfinished"


def new_thread_id(task: str) -> str:
    """A name to type: words of the task and four random characters."""
    words = re.sub(r"[^a-z0-9]+", "-", task.lower()).strip("-")
    start = words[:24].rsplit("-", 1)[0] if len(words) > 24 else words
    return f"{start or 'thread'}-{secrets.token_hex(2)}"


def plain_options(options: Mapping[str, Any]) -> dict[str, Any]:
    """The options that a later process can use again; never a key, never an object."""
    return {
        key: _plain(value)
        for key, value in options.items()
        if key not in _OBJECTS and not callable(value)
    }


def stored_options(record: ThreadRecord, branch: str = MAIN) -> dict[str, Any]:
    """What `plain_options` kept, as `headway.build.Options` wants it."""
    kept: dict[str, Any] = dict(record.kept(branch).options)
    kept["limits"] = Limits(**(kept.get("limits") or {}))
    kept["read_only"] = [Path(path) for path in kept.get("read_only") or ()]
    for name, kind in (("progress", ProgressSettings), ("retries", RetryPolicy)):
        if kept.get(name) is not None:
            kept[name] = kind.model_validate(kept[name])
    if "truncation" in kept:
        kept["truncation"] = _truncation(kept["truncation"])
    kept["workspace"] = record.workspace
    kept["root"] = Path(record.root) if record.root else None
    return kept


def _truncation(kept: Any) -> Any:
    """Limits for all tools, or by tool name; None switches shortening off."""
    if not isinstance(kept, dict):
        return kept
    if kept.keys() == {"characters", "lines"}:
        return TruncationLimits(**kept)
    return {name: _truncation(limits) for name, limits in kept.items()}


def _plain(value: Any) -> Any:
    if isinstance(value, TruncationLimits):
        return asdict(value)
    if isinstance(value, Mapping):
        return {key: _plain(item) for key, item in value.items()}
    if hasattr(value, "model_dump"):
        return value.model_dump(mode="json")
    if isinstance(value, Path):
        return str(value)
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    return value


def save_record(home: Home, record: ThreadRecord) -> None:
    """Write the record atomically."""
    folder = home.make().thread(record.thread).make()
    now = datetime.now(UTC).isoformat(timespec="seconds")
    stamped = record.model_copy(update={"created": record.created or now, "updated": now})
    write_note(folder.record, stamped.model_dump_json(indent=1))


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
    if given == "":
        raise HeadwayError("the thread's name is empty; `headway threads` lists them")
    if given and home.thread(given).record.exists():
        return load_record(home, given)
    known = records(home)
    if given in (None, "-"):
        here = [r for r in known if workspace is not None and r.workspace == str(workspace)]
        if not known:
            raise HeadwayError("no thread yet: start one with `headway run` or `headway demo`")
        return (here or known)[0]
    matches = [r for r in known if r.thread.startswith(str(given))]
    if len(matches) == 1:
        return matches[0]
    names = ", ".join(r.thread for r in matches[:5])
    near = get_close_matches(str(given), [r.thread for r in known], 1)
    hint = f"did you mean {near[0]}? " if near else ""
    hint += "`headway threads` lists them"
    if matches:
        hint = f"several threads begin so: {names}"
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
