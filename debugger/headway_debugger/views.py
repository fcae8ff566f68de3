"""What a thread shows: its tree, its state, and the request a step sent to the model."""

from collections.abc import Callable, Mapping
from typing import Any

from headway.heads import HeadStore
from headway_debugger.backend import Backend
from headway_debugger.tree import ThreadTree, TreeNode, build_tree
from headway_debugger.upkeep import check_whole
from headway_tools.errors import HeadwayError

RequestBuilder = Callable[[Mapping[str, Any]], Any]
"""Rebuilds, from the values of a state, exactly what was sent to the model there."""


def tree(backend: Backend, thread_id: str, heads: HeadStore | None = None) -> ThreadTree:
    """The branches of a thread, with the names that `heads` keeps.

    `HeadwayError`: no such thread, a damaged row, or a thread cut by a careless prune.
    """
    names = heads.load().names if heads is not None else {}
    rows = backend.rows(thread_id)
    check_whole(backend, thread_id, rows)
    return build_tree(thread_id, rows, names)


def state(backend: Backend, tree: ThreadTree, node: TreeNode) -> dict[str, Any]:
    """All channels at a checkpoint; `HeadwayError`: damaged, or of a newer version."""
    return dict(backend.snapshot(tree.thread_id, node.id).values)


def request(
    backend: Backend,
    tree: ThreadTree,
    node: TreeNode,
    build: RequestBuilder,
    *,
    model_node: str = "agent",
) -> Any:
    """What `build` makes of the state that the model saw for this step.

    That is the step itself where the model runs next, else its parent where the model made it.
    `HeadwayError`: the model was not asked there.
    """
    snapshot = backend.snapshot(tree.thread_id, node.id)
    if model_node in snapshot.next:
        return build(snapshot.values)
    if model_node in node.writers and node.parent is not None and node.source == "loop":
        return build(backend.snapshot(tree.thread_id, node.parent).values)
    raise HeadwayError(f"step {node.name} asked no model: choose one before or after {model_node}")
