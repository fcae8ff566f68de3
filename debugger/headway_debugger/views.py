"""What a thread shows: its tree, its state, and the request a step sent to the model."""

from collections.abc import Callable, Mapping
from typing import Any

from headway_debugger.backend import Backend
from headway_debugger.heads import HeadStore
from headway_debugger.tree import ThreadTree, build_tree

RequestBuilder = Callable[[Mapping[str, Any]], Any]
"""Rebuilds, from a state's values, exactly what was sent to the model."""


def tree(backend: Backend, thread_id: str, heads: HeadStore | None = None) -> ThreadTree:
    """The branches of a thread, with the names that `heads` keeps.

    `HeadwayError`: no such thread, or a damaged row.
    """
    names = heads.load().names if heads is not None else {}
    return build_tree(thread_id, backend.rows(thread_id), names)
