"""A thread of headway's data folder, opened by its record: its rows, names, files and settings.

The graph over its checkpoints is to read, edit and draw; to run a branch is `headway.run`'s.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

from headway.build import Agent, build_agent
from headway.heads import HeadFile
from headway.schema import check_schema
from headway.storage import open_saver
from headway.threads import ThreadRecord, find_record, load_record
from headway_debugger.backend import Backend
from headway_debugger.files import BRANCH, FILES
from headway_debugger.steps import Step, steps
from headway_debugger.tree import ThreadTree, TreeNode, resolve
from headway_debugger.views import state, tree
from headway_tools.errors import HeadwayError
from headway_tools.home import Home, ThreadFolder
from headway_tools.snapshots import Change, Snapshots
from headway_tools.storage import FolderStorage
from headway_tools.turns import Turn, Turns

BUSY_SECONDS: Final = 0.5
"""How long a verb waits for a run in its way before it is refused."""

TURN_SECONDS: Final = 2.0
"""How long a verb waits for a call of another thread before it is refused."""

VERBS: Final = "thread.verbs"
"""The lock of verbs that write names; no branch can be called so."""


@dataclass(frozen=True)
class Thread:
    """An open thread as it stood when it was opened; `again` reads it anew."""

    home: Home
    record: ThreadRecord
    graph: Agent
    backend: Backend
    tree: ThreadTree

    @property
    def id(self) -> str:
        return self.record.thread

    @property
    def folder(self) -> ThreadFolder:
        return self.home.thread(self.id)

    @property
    def heads(self) -> HeadFile:
        """The names of the branches and the current one."""
        return HeadFile(self.folder.heads)

    @property
    def workspace(self) -> Path:
        """Where the files stand for the model; `HeadwayError`: the thread has none."""
        if not self.record.workspace:
            raise HeadwayError(f"thread {self.id} has no workspace")
        return Path(self.record.workspace)

    @property
    def root(self) -> Path:
        """The real folder that branches without one of their own work in."""
        return Path(self.record.root) if self.record.root else self.workspace

    def branch(self, name: str) -> str:
        """The branch of that name, empty: the current one; `HeadwayError`: there is none."""
        wanted = name or self.heads.load().current
        if wanted not in self.tree.branches:
            known = ", ".join(self.tree.branches)
            raise HeadwayError(f"thread {self.id} has no branch {wanted}: it has {known}")
        return wanted

    def again(self) -> "Thread":
        """The same thread with what was written since."""
        record = load_record(self.home, self.id)
        return replace(self, record=record, tree=tree(self.backend, self.id, self.heads))

    def node(self, step: str = "") -> TreeNode:
        """The step of that name (see `headway_debugger.tree.resolve`); empty: the newest of the
        current branch."""
        return resolve(self.tree, step or self.heads.load().current)

    def page(self, branch: str, count: int | None) -> list[Step]:
        """The newest `count` steps of a branch; None: all."""
        nodes = self.tree.branches[branch].nodes
        return steps(self.backend, self.tree, nodes if count is None else nodes[-count:])

    def step(self, node: TreeNode) -> Step:
        """What one step did."""
        return steps(self.backend, self.tree, [node])[0]

    def state(self, node: TreeNode) -> dict[str, Any]:
        """All channels at a step."""
        return state(self.backend, self.tree, node)

    def patch(self, node: TreeNode) -> str:
        """What a step changed in the files, as a unified diff; empty: nothing."""
        if (states := self._files_around(node)) is None:
            return ""
        with self.snapshots() as snapshots:
            return snapshots.patch(*states)

    def changes(self, node: TreeNode) -> list[Change]:
        """The paths that a step changed."""
        if (states := self._files_around(node)) is None:
            return []
        with self.snapshots() as snapshots:
            return snapshots.diff(*states)

    def _files_around(self, node: TreeNode) -> tuple[str, str] | None:
        """The snapshots before and after a step; None where they are the same."""
        parent = self.tree.nodes.get(node.parent or "")
        before = self.state(parent).get(FILES) if parent else None
        after = self.state(node).get(FILES)
        return (before, after) if before and after and before != after else None

    def drawing(self) -> str:
        """The graph in Mermaid's language."""
        return self.graph.get_graph().draw_mermaid().rstrip()

    def root_of(self, values: Mapping[str, Any]) -> Path:
        """The real folder of a state's files."""
        branch = values.get(BRANCH)
        return self.folder.branch(branch) if branch else self.root

    @contextmanager
    def snapshots(self) -> Iterator[Snapshots]:
        """The states of the workspace, closed at the end."""
        snapshots = FolderStorage(self.home).snapshots(self.id, self.workspace)
        try:
            yield snapshots
        finally:
            snapshots.close()

    @contextmanager
    def writing(self, *folders: str) -> Iterator["Thread"]:
        """The thread as it is now, held for a verb that writes names; with `folders` ("": the
        workspace) runs there wait too. `HeadwayError`: busy."""
        with hold(self.home, self.id, [VERBS, *(name or "main" for name in folders)]):
            yield self.again()

    @contextmanager
    def changing(self, root: Path) -> Iterator[Turn]:
        """Hold the turn of changing files in `root`. `HeadwayError`: another thread has it."""
        with self.turns(root).take(TURN_SECONDS) as turn:
            if turn is None:
                raise HeadwayError(
                    f"another thread is changing files in {root}; wait for it, or stop it"
                )
            yield turn

    def turns(self, root: Path) -> Turns:
        """Where this thread and others take turns in `root`."""
        return Turns(self.home.turns(root), self.id)


@contextmanager
def open_thread(home: Home, name: str | None, workspace: Path | None = None) -> Iterator[Thread]:
    """The thread with that name or a unique beginning of it; None: the newest of `workspace`.

    `HeadwayError`: no such thread, nothing in it yet, damaged, or written by a newer headway.
    """
    record = find_record(home, name, workspace)
    with reading_graph(home) as graph:
        backend = Backend(graph, check=check_schema)
        found = tree(backend, record.thread, HeadFile(home.thread(record.thread).heads))
        yield Thread(home, record, graph, backend, found)


@contextmanager
def reading_graph(home: Home) -> Iterator[Agent]:
    """The graph over the data folder's checkpoints, to read and edit: it has no model, no tool."""
    with open_saver(home) as saver:
        yield build_agent(checkpointer=saver)


@contextmanager
def hold(home: Home, thread_id: str, names: Sequence[str]) -> Iterator[None]:
    """Hold several locks of a thread; `HeadwayError`: a run has one of them."""
    storage = FolderStorage(home)
    with ExitStack() as stack:
        for name in sorted(set(names)):
            stack.enter_context(storage.lock(thread_id, name).acquire(BUSY_SECONDS))
        yield
