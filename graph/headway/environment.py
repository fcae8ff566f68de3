"""Opens what a branch of a thread may touch: folder, sandbox, journal, snapshots.

Opened once per process and branch, kept for the next call, closed when too many are open.
"""

import os
import shutil
import tempfile
import weakref
from collections import OrderedDict
from pathlib import Path
from threading import Lock
from typing import Final

from headway.context import Settings
from headway_tools.env import ToolEnv
from headway_tools.home import Home, ThreadFolder, default_home, make_private
from headway_tools.journal import MemoryJournal
from headway_tools.leases import Record
from headway_tools.sandbox import DEFAULT_HIDE, Sandbox, SandboxPolicy, open_sandbox
from headway_tools.secrets import Masker, host_secrets
from headway_tools.storage import FolderStorage, Storage, WorkspaceStates
from headway_tools.turns import Turns
from headway_tools.withheld import keys_of_user, place_in
from headway_tools.workspace import Workspace

MOST_OPEN: Final = 512


class Environments:
    """The open environments of one agent, by thread and branch."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._open: OrderedDict[tuple[str, str, str], ToolEnv] = OrderedDict()
        self._lock = Lock()
        self._temporary: Path | None = None
        self._masker: Masker | None = None
        self._environ: dict[str, str] = {}

    def get(self, thread_id: str | None, branch: str = "", run_id: str = "") -> ToolEnv:
        """The environment of a branch; without a thread that of one run, kept in memory."""
        key = (thread_id, branch, "") if thread_id is not None else ("", "", run_id)
        with self._lock:
            env = self._open.pop(key, None) or self._make(thread_id, branch)
            self._open[key] = env
            if len(self._open) > MOST_OPEN:
                close(self._open.popitem(last=False)[1])
            return env

    def release(self, run_id: str) -> None:
        """A run without a thread has ended: forget its results."""
        with self._lock:
            env = self._open.pop(("", "", run_id), None)
        if env is not None:
            close(env)

    def close(self) -> None:
        """Close journals and snapshot stores; a later `get` opens them again."""
        with self._lock:
            while self._open:
                close(self._open.popitem()[1])

    def _make(self, thread_id: str | None, branch: str) -> ToolEnv:
        kept = None if self._settings.memory else thread_id
        folder = self.home.thread(kept).make() if kept is not None else None
        workspace = self._workspace(folder, thread_id, branch)
        private = folder.private if folder else self._scratch() / "private"
        return ToolEnv(
            workspace=workspace,
            sandbox=self._sandbox(workspace, private) if workspace else None,
            journal=MemoryJournal() if kept is None else self.storage.journal(kept),
            snapshots=self._snapshots(kept, workspace),
            tool_timeout=self._settings.limits.tool_timeout,
            mask=self.mask,
            thread=thread_id,
            turns=Turns(self.home.turns(workspace.root), kept) if workspace and kept else None,
        )

    def _snapshots(
        self, thread_id: str | None, workspace: Workspace | None
    ) -> WorkspaceStates | None:
        if thread_id is None or workspace is None:
            return None
        return self.storage.snapshots(thread_id, workspace.path)

    def mask(self, text: str) -> str:
        """`text` without the host's secrets of this moment and without the key that was given."""
        environ = dict(os.environ)
        if self._masker is None or self._environ != environ:
            keys = [self._settings.api_key] if self._settings.api_key else []
            self._masker = Masker((*host_secrets(environ), *keys))
            self._environ = environ
        return self._masker.mask(text)

    def lease(self, thread_id: str | None, branch: str) -> Record | None:
        """The record of a branch's lease; None for what is kept in memory only."""
        if thread_id is None or self._settings.memory:
            return None
        return self.storage.lease(thread_id, branch)

    @property
    def storage(self) -> Storage:
        """What workers share of threads."""
        return self._settings.storage or FolderStorage(self.home)

    @property
    def home(self) -> Home:
        return Home(self._settings.home or default_home())

    def _workspace(
        self, folder: ThreadFolder | None, thread_id: str | None, branch: str
    ) -> Workspace | None:
        path = self.workspace_path(thread_id)
        if path is None:
            return None
        root = folder.branch(branch) if branch and folder else self._settings.root or path
        hide = DEFAULT_HIDE if self._settings.hide is None else self._settings.hide
        withheld = (place_in(root, own) for own in (self.home.path, *keys_of_user()))
        return Workspace(
            path=path,
            root=root,
            protect=self._settings.protect,
            hide=hide,
            withheld=tuple(filter(None, withheld)),
        )

    def workspace_path(self, thread_id: str | None) -> Path | None:
        """Where the workspace stands for the model; a server's is made here, one per thread."""
        if self._settings.workspace_root is None:
            return self._settings.workspace
        path = self._settings.workspace_root / Home(Path()).thread(thread_id or "none").path.name
        make_private(path)
        return path

    def _sandbox(self, workspace: Workspace, private: Path) -> Sandbox:
        make_private(private)
        settings = self._settings
        policy = SandboxPolicy(
            path=workspace.path,
            root=workspace.root,
            private=private,
            protect=workspace.protect,
            hide=workspace.hide,
            network=settings.network,
            read_only=settings.read_only,
            withheld=(self.home.path,),
        )
        return open_sandbox(policy, settings.sandbox)

    def _scratch(self) -> Path:
        if self._temporary is None:
            self._temporary = Path(tempfile.mkdtemp(prefix="headway-"))
            weakref.finalize(self, shutil.rmtree, self._temporary, ignore_errors=True)
        return self._temporary


def close(env: ToolEnv) -> None:
    """Close what holds files open."""
    env.journal.close()
    if env.snapshots is not None:
        env.snapshots.close()
