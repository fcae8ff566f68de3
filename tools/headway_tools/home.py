"""headway's data folder: one SQLite file of checkpoints, one folder per thread, the turns taken
in workspaces.

A thread's folder holds all that its checkpoints name (journal, snapshots, private home and
tmp of the sandbox, branch folders, locks), so removing a thread is removing a folder.
"""

import hashlib
import os
import re
import tempfile
from dataclasses import dataclass
from pathlib import Path

import platformdirs

from headway_tools.errors import HeadwayError

_PLAIN = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")


def absolute(path: Path | str) -> Path:
    """The absolute path, `~` being a home; `HeadwayError` for somebody who has none."""
    try:
        return Path(path).expanduser().absolute()
    except RuntimeError as error:
        raise HeadwayError(f"{path} is in no home known here: give the path from / on") from error


def default_home() -> Path:
    """`HEADWAY_HOME`, else the user's data folder."""
    given = os.environ.get("HEADWAY_HOME")
    return absolute(given) if given else platformdirs.user_data_path("headway")


def is_plain(thread_id: str) -> bool:
    """A name that can be typed and be a file's: letters, digits, `.`, `_`, `-`; at most 64."""
    return _PLAIN.fullmatch(thread_id) is not None


def folder_name(thread_id: str) -> str:
    """A file name for any thread id: the id itself where it is a plain one, else its hash."""
    if is_plain(thread_id):
        return thread_id
    return "x-" + hashlib.sha256(thread_id.encode("utf-8", "surrogatepass")).hexdigest()[:40]


@dataclass(frozen=True)
class ThreadFolder:
    """Where one thread keeps what is too large or too real for a checkpoint."""

    path: Path

    @property
    def record(self) -> Path:
        return self.path / "thread.json"

    @property
    def heads(self) -> Path:
        """Names of the thread's branches."""
        return self.path / "heads.json"

    @property
    def journal(self) -> Path:
        return self.path / "journal.sqlite"

    @property
    def snapshots(self) -> Path:
        return self.path / "snapshots"

    @property
    def private(self) -> Path:
        """Holds `home/` and `tmp/`, bound into the sandbox; not part of snapshots."""
        return self.path / "private"

    @property
    def locks(self) -> Path:
        return self.path / "locks"

    def lease(self, branch: str) -> Path:
        """Says which worker is at work on a branch (`headway_tools.leases`)."""
        return self.locks / f"{folder_name(branch or 'main')}.lease"

    def branch(self, name: str) -> Path:
        """The files of a branch (a fork, a copy), outside the user's workspace."""
        return self.path / "branches" / folder_name(name)

    def make(self) -> "ThreadFolder":
        make_private(self.path)
        return self


@dataclass(frozen=True)
class Home:
    """The data folder, mode 0700."""

    path: Path

    @property
    def checkpoints(self) -> Path:
        return self.path / "checkpoints.sqlite"

    @property
    def config(self) -> Path:
        return self.path / "config.toml"

    @property
    def env_file(self) -> Path:
        return self.path / ".env"

    @property
    def threads(self) -> Path:
        return self.path / "threads"

    def thread(self, thread_id: str) -> ThreadFolder:
        return ThreadFolder(self.threads / folder_name(thread_id))

    def turns(self, root: Path) -> Path:
        """Where runs take turns in the folder `root` (`headway_tools.turns`)."""
        name = hashlib.sha256(os.fsencode(os.path.realpath(root))).hexdigest()[:12]
        return self.path / "folders" / name

    def readable(self) -> "Home":
        """Itself, or a `HeadwayError` where it is no folder or cannot be looked into; it need not
        exist yet."""
        try:
            os.scandir(self.path).close()
        except FileNotFoundError:
            pass
        except OSError as error:
            raise HeadwayError(
                f"cannot read headway's data folder {self.path}: {error.strerror}; set HEADWAY_HOME"
            ) from error
        return self

    def writable(self) -> "Home":
        """Itself, or a `HeadwayError` where nothing can be kept in it, found by trying (of /proc
        the permissions say that it can be written); leaves nothing behind."""
        there = next(path for path in (self.path, *self.path.absolute().parents) if path.exists())
        try:
            tempfile.TemporaryDirectory(dir=there).cleanup()
        except OSError as error:
            raise _cannot_write(self.path, error) from error
        return self

    def make(self) -> "Home":
        make_private(self.path)
        return self


def make_private(path: Path) -> None:
    """Create `path` and its parents; the folder itself gets mode 0700."""
    try:
        path.mkdir(parents=True, exist_ok=True, mode=0o700)
        if path.stat().st_mode & 0o077 and path.stat().st_uid == os.geteuid():
            path.chmod(0o700)
    except OSError as error:
        raise _cannot_write(path, error) from error


def _cannot_write(path: Path, error: OSError) -> HeadwayError:
    return HeadwayError(
        f"cannot write headway's data folder {path}: {error.strerror}; set HEADWAY_HOME"
    )
