"""Forks of a thread of headway's data folder: a branch, its files, its settings and its name."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import count
from typing import Any, Final

from headway.heads import MAIN
from headway.limits import Limits, changed_limits
from headway.threads import Kept, Moved, load_record, save_record, update_record
from headway_debugger.edits import message_edit, result_edit, task_edit, together
from headway_debugger.files import fork_files
from headway_debugger.fork import Edit, editable, fork
from headway_debugger.threads import Thread
from headway_debugger.tree import TreeNode
from headway_debugger.undo_notes import load_undo, save_undo
from headway_tools.errors import HeadwayError

Editor = Callable[[Mapping[str, Any], str, str], Edit]

EDITORS: Final[Mapping[str, Editor]] = {
    "task": lambda values, which, text: task_edit(values, text),
    "result": lambda values, which, text: result_edit(values, which, text),
    "message": lambda values, which, text: message_edit(values, which, text),
}
"""What can be changed in the history, from (values, which, text)."""

SETTINGS: Final = frozenset({"model", "limit"})
"""What can be changed for the branch's runs."""


@dataclass(frozen=True)
class Change:
    """One thing that is different on a branch.

    `what`: `task`; `result` (`which`: a call's id, empty: the last); `message` (`which`: its id);
    `model`; `limit` (`which`: its name; `text` a number, or `none`).
    """

    what: str
    which: str
    text: str

    @classmethod
    def parsed(cls, text: str) -> "Change":
        """From `WHAT=TEXT` or `WHAT:WHICH=TEXT`; `HeadwayError`: nothing of the kind."""
        name, equals, value = text.partition("=")
        what, _, which = name.partition(":")
        if not equals or what not in EDITORS.keys() | SETTINGS or (what == "limit" and not which):
            known = "task=TEXT, result[:CALL]=TEXT, message:ID=TEXT, model=NAME, limit:NAME=NUMBER"
            raise HeadwayError(f"--set takes {known}; not {text!r}")
        return cls(what, which, value)


def fork_thread(
    thread: Thread, node: TreeNode, name: str | None = None, changes: Sequence[Change] = ()
) -> str:
    """Make a branch at `node` with the files of that moment in a folder of its own; its name.

    The folder stands at the workspace's path inside sandbox and file tools. The branch becomes
    the current one; `headway.run.run_agent(None, thread_id=…, branch=…)` runs it. Nothing of the
    original changes.
    `HeadwayError`: the name is taken, no sandbox, no snapshot, or a change does not fit.
    """
    with thread.writing() as now:
        node = now.tree.nodes[node.id]
        kept = kept_with(now.record.kept(node.branch), changes)
        refuse_unconfined(now, kept)
        branch = name or free_name(now)
        now.heads.load().named(branch, "")
        edit = edit_of(now, node, changes)
        keep_names(now)
        if now.record.workspace:
            with now.snapshots() as snapshots:
                made = fork_files(
                    now.backend,
                    now.tree,
                    node,
                    branch,
                    snapshots=snapshots,
                    folder=now.folder,
                    original=now.root,
                    edit=edit,
                )
        else:
            made = fork(now.backend, now.id, node, edit)
        keep_settings(now, branch, kept)
        undo, before = load_undo(now.folder), now.heads.load().current
        save_undo(now.folder, replace(undo, forks={**undo.forks, branch: before}))
        now.heads.save(now.heads.load().named(branch, made.start).on(branch))
        keep_moved(now, "forked")
    return branch


def refuse_unconfined(thread: Thread, kept: Kept) -> None:
    """`HeadwayError` where a branch could not stand at the workspace's path."""
    if thread.record.workspace and kept.options.get("sandbox") == "none":
        raise HeadwayError(
            "a branch's files stand at the workspace's path only inside the sandbox: a thread "
            "with --sandbox none cannot be forked; `headway restore` goes back in place"
        )


def edit_of(thread: Thread, node: TreeNode, changes: Sequence[Change]) -> Edit:
    """The changes of history, as one edit."""
    wanted = [change for change in changes if change.what in EDITORS]
    values = editable(thread.backend, thread.id, node) if wanted else {}
    return together([EDITORS[c.what](values, c.which, c.text) for c in wanted])


def kept_with(kept: Kept, changes: Sequence[Change]) -> Kept:
    """The settings of a branch, changed."""
    if not any(change.what in SETTINGS for change in changes):
        return kept
    models = [change.text for change in changes if change.what == "model"]
    wanted = {change.which: change.text for change in changes if change.what == "limit"}
    before = Limits(**(kept.options.get("limits") or {}))
    limits = changed_limits(before, wanted, lambda name: "--set limit")
    options = {**kept.options, "limits": limits.model_dump()}
    return Kept(model=models[-1] if models else kept.model, options=options)


def keep_names(thread: Thread) -> None:
    """Write down the names of all branches as shown, before one is added: a name never moves."""
    thread.heads.save(thread.heads.load().keeping(thread.tree.starts))


def keep_settings(thread: Thread, branch: str, kept: Kept) -> None:
    """Give a branch its own settings, where they are not those of the original line."""
    record = load_record(thread.home, thread.id)
    if kept != record.kept(MAIN):
        record = record.keeping(branch, kept)
    save_record(thread.home, record)


def keep_moved(thread: Thread, verb: Moved) -> None:
    """Write down what a verb has made of the thread: the status of where it stands now, or
    where nothing has ended there, the verb."""
    now = thread.again()
    tip = now.backend.snapshot(now.id, now.node().id)
    ended = None if tip.next else (tip.values.get("outcome") or {}).get("status")
    update_record(now.home, now.id, status=ended, moved="" if ended else verb)


def free_name(thread: Thread) -> str:
    """The first of `b2`, `b3` … that no branch has or had."""
    taken = {*thread.tree.branches, *thread.heads.load().starts}
    names = (f"b{number}" for number in count(2))
    return next(n for n in names if n not in taken and not thread.folder.branch(n).exists())
