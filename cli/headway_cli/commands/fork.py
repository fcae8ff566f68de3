"""`headway fork THREAD@STEP`: a branch from any step, with the files of that moment."""

import argparse
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from headway.threads import save_record
from headway_cli.commands.resume import options_of
from headway_cli.conduct import conduct, output_for
from headway_cli.options import configure, the_home
from headway_cli.threads import Opened, opened, split_step
from headway_debugger.edits import message_edit, result_edit, task_edit, together
from headway_debugger.files import fork_files
from headway_debugger.fork import Edit, Fork, fork
from headway_debugger.tree import TreeNode
from headway_tools.errors import HeadwayError

Editor = Callable[[Mapping[str, Any], str, str], Edit]

EDITORS: Final[dict[str, Editor]] = {
    "task": lambda values, which, text: task_edit(values, text),
    "result": lambda values, which, text: result_edit(values, which, text),
    "message": lambda values, which, text: message_edit(values, which, text),
}
"""What `--set NAME[:WHICH]=TEXT` can change in the history."""


def run(args: argparse.Namespace) -> int:
    """Make the branch; with --run go on with it at once."""
    configure(args)
    name, step = split_step(args.step)
    with opened(name) as thread:
        node = thread.node(step)
        options = options_of(args, thread.record)
        branch = args.name or _free_name(thread)
        _make(thread, node, branch, _edit(thread.state(node), args.set or []))
        record = thread.record.model_copy(update={"status": None})
        save_record(the_home(), record)
    if args.run:
        return conduct(None, output_for(args), thread_id=record.thread, **options)
    print(f"{record.thread}@{branch} from step {node.name}; headway resume {record.thread} runs it")
    return 0


def _make(thread: Opened, node: TreeNode, branch: str, edit: Edit) -> None:
    heads = thread.heads.load()
    heads.named(branch, "")
    made = _with_files(thread, node, branch, edit)
    thread.heads.save(heads.keeping(thread.tree.starts).named(branch, made.start).on(branch))


def _with_files(thread: Opened, node: TreeNode, branch: str, edit: Edit) -> Fork:
    record = thread.record
    if not record.workspace:
        return fork(thread.backend, record.thread, node, edit)
    if record.options.get("sandbox") == "none":
        raise HeadwayError(
            "a branch's files stand at the workspace's path only inside the sandbox: a thread "
            "with --sandbox none cannot be forked"
        )
    with thread.snapshots() as snapshots:
        return fork_files(
            thread.backend,
            thread.tree,
            node,
            branch,
            snapshots=snapshots,
            folder=thread.folder,
            original=thread.root,
            edit=edit,
        )


def _free_name(thread: Opened) -> str:
    taken = {*thread.tree.branches, *thread.heads.load().starts}
    return next(name for number in range(2, 10_000) if (name := f"b{number}") not in taken)


def _edit(values: Mapping[str, Any], changes: Sequence[str]) -> Edit:
    """The edits of `--set`, as one."""
    edits = []
    for change in changes:
        what, equals, text = change.partition("=")
        name, _, which = what.partition(":")
        if not equals or name not in EDITORS:
            known = "task=TEXT, result[:CALL]=TEXT, message:ID=TEXT"
            raise HeadwayError(f"--set takes {known}; not {change!r}")
        edits.append(EDITORS[name](values, which, text))
    return together(edits)
