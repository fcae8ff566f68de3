"""Small files that the commands keep beside a thread: replaced whole, or one clear error."""

import os
from pathlib import Path

from headway_tools.errors import HeadwayError


def write_note(path: Path, text: str) -> None:
    """Replace `path` atomically, mode 0600."""
    temporary = path.with_suffix(f".{os.getpid()}.tmp")
    try:
        temporary.touch(mode=0o600)
        temporary.write_text(text, encoding="utf-8")
        temporary.replace(path)
    except OSError as error:
        raise HeadwayError(f"cannot write {path}: {error.strerror}") from error
    finally:
        temporary.unlink(missing_ok=True)


def read_note(path: Path) -> str | None:
    """The text of `path`, None where there is no such file."""
    try:
        return path.read_text(encoding="utf-8")
    except FileNotFoundError:
        return None
    except (OSError, UnicodeDecodeError) as error:
        raise HeadwayError(f"cannot read {path}: {error}; remove it") from error
