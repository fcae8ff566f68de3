"""Small files that are kept beside a thread: replaced whole, or one clear error."""

import os
import secrets
from contextlib import suppress
from pathlib import Path

from headway_tools.errors import HeadwayError


def write_note(path: Path, text: str) -> None:
    """Replace `path` atomically, mode 0600."""
    temporary = path.with_suffix(f".{secrets.token_hex(4)}.tmp")
    try:
        handle = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
    except OSError as error:
        raise HeadwayError(f"cannot write {path}: {error.strerror}") from error
    finally:
        with suppress(OSError):
            temporary.unlink()


def read_note(path: Path) -> str | None:
    """The text of `path`, None where there is no such file."""
    try:
        return path.read_text(encoding="utf-8")
    except FileNotFoundError:
        return None
    except (OSError, UnicodeDecodeError) as error:
        raise HeadwayError(f"cannot read {path}: {error}; remove it") from error
