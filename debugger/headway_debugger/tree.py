"""The tree of a thread: branches from parent links, with names a person can type. Pure.

`7` is a step of the original line ("main"), `b2.9` one of the second branch. A number is
LangGraph's own step plus one, so it does not move when a thread is paged, pruned or copied.
"""

from collections import defaultdict
from collections.abc import Container, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime

from headway.branches import follow
from headway.heads import MAIN
from headway_debugger.rows import AS_NODE, Row, created
from headway_tools.errors import HeadwayError

_PREFIX = 8
"""Characters of a checkpoint id that are taken for one."""

_MOST_BRANCHES = 6
"""Branches that a message about an unknown step names."""


@dataclass(frozen=True)
class TreeNode:
    """One checkpoint. `writers` made it, `next` runs from it (None: a tip, not read yet)."""

    id: str
    parent: str | None
    branch: str
    number: int
    source: str
    """input, loop, update (an edit) or fork (a copy)."""
    writers: tuple[str, ...]
    next: tuple[str, ...] | None
    created: datetime | None
    marks: frozenset[str]

    @property
    def name(self) -> str:
        """What a person types: `7` on the original line, `b2.9` on a branch."""
        return str(self.number) if self.branch == MAIN else f"{self.branch}.{self.number}"


@dataclass(frozen=True)
class Branch:
    """A line of checkpoints from where it left another one to its tip."""

    name: str
    nodes: tuple[TreeNode, ...]
    forked_from: TreeNode | None
    """The checkpoint this branch repeats (a copy) or goes on from; None for a first line."""

    @property
    def start(self) -> TreeNode:
        return self.nodes[0]

    @property
    def tip(self) -> TreeNode:
        return self.nodes[-1]


@dataclass(frozen=True)
class ThreadTree:
    """All checkpoints of a thread, oldest first, and its branches in the order of their start."""

    thread_id: str
    nodes: Mapping[str, TreeNode]
    branches: Mapping[str, Branch]

    @property
    def starts(self) -> dict[str, str]:
        """The id of each branch's first checkpoint, by the branch's name."""
        return {name: branch.start.id for name, branch in self.branches.items()}

    def lineage(self, node: TreeNode) -> list[TreeNode]:
        """From the root to `node`."""
        line = [node]
        while (parent := line[-1].parent) is not None and parent in self.nodes:
            line.append(self.nodes[parent])
        return line[::-1]

    def children(self, node: TreeNode) -> list[TreeNode]:
        """Checkpoints whose parent is `node`, oldest first."""
        return [other for other in self.nodes.values() if other.parent == node.id]


def build_tree(
    thread_id: str, rows: Iterable[Row], names: Mapping[str, str] | None = None
) -> ThreadTree:
    """The tree of `rows`.

    `names` gives branches their names by the id of their first checkpoint, as kept by a
    `HeadStore`; the others are called `b2`, `b3` … in the order in which they were made.
    """
    by_id = {row.id: row for row in sorted(rows, key=lambda row: row.id)}
    children: dict[str | None, list[Row]] = defaultdict(list)
    for row in by_id.values():
        children[row.parent if row.parent in by_id else None].append(row)
    given = names or {}
    ids = {parent: [row.id for row in found] for parent, found in children.items()}
    lines = [[by_id[i] for i in follow(start.id, ids, given)] for start in _starts(children, given)]
    named = _names([line[0].id for line in lines], given)
    nodes: dict[str, TreeNode] = {}
    for line in lines:
        for row in line:
            nodes[row.id] = _node(row, by_id, children, nodes, named[line[0].id])
    branches = {
        named[line[0].id]: Branch(
            named[line[0].id],
            tuple(nodes[row.id] for row in line),
            _forked_from(line[0], by_id, nodes),
        )
        for line in lines
    }
    return ThreadTree(thread_id, {i: nodes[i] for i in by_id}, branches)


def _starts(children: Mapping[str | None, list[Row]], names: Container[str]) -> list[Row]:
    """First checkpoints of all lines, oldest first: roots, every child but the oldest, and
    those with a name of their own, which stay lines when an older sibling was pruned."""
    found = list(children.get(None, ()))
    for parent, rows in children.items():
        if parent is not None:
            found.extend(row for row in rows if row is not rows[0] or row.id in names)
    return sorted(found, key=lambda row: row.id)


def _names(starts: list[str], given: Mapping[str, str]) -> dict[str, str]:
    """A name for each line: the given one, `main` for the oldest, else the next free number."""
    names = {start: given[start] for start in starts if start in given}
    taken = set(given.values())
    number = 2
    for start in starts:
        if start in names:
            continue
        name = MAIN
        while name in taken:
            name, number = f"b{number}", number + 1
        names[start] = name
        taken.add(name)
    return names


def _node(
    row: Row,
    by_id: Mapping[str, Row],
    children: Mapping[str | None, list[Row]],
    done: Mapping[str, TreeNode],
    branch: str,
) -> TreeNode:
    parent = by_id.get(row.parent or "")
    before = done.get(row.parent or "")
    return TreeNode(
        id=row.id,
        parent=row.parent,
        branch=branch,
        number=max(row.step + 1, before.number + 1 if before else 0),
        source=row.source,
        writers=_writers(row, parent, by_id),
        next=_next(row, children, by_id),
        created=created(row.id),
        marks=row.marks,
    )


def _writers(row: Row, parent: Row | None, by_id: Mapping[str, Row]) -> tuple[str, ...]:
    """Who made a checkpoint: the tasks that ran from its parent.

    A fork that `invoke` makes has its original as *parent* (step + 1): same writers as that.
    """
    if row.metadata.get(AS_NODE):
        return (str(row.metadata[AS_NODE]),)
    if parent is None or row.source in ("input", "update"):
        return ()
    if row.source == "fork" and row.step == parent.step + 1:
        return _writers(parent, by_id.get(parent.parent or ""), by_id)
    before = by_id.get(parent.parent or "")
    sends = before.sends if before else ()
    return tuple(dict.fromkeys(_task_name(name, sends) for name in parent.ran))


def _task_name(name: str, sends: tuple[str, ...]) -> str:
    if not name.startswith("#"):
        return name
    index = int(name[1:])
    return sends[index] if index < len(sends) else "?"


def _next(
    row: Row, children: Mapping[str | None, list[Row]], by_id: Mapping[str, Row]
) -> tuple[str, ...] | None:
    if row.next is not None:
        return row.next
    looped = next((child for child in children.get(row.id, ()) if child.source == "loop"), None)
    return _writers(looped, row, by_id) if looped else None


def _forked_from(
    start: Row, by_id: Mapping[str, Row], nodes: Mapping[str, TreeNode]
) -> TreeNode | None:
    """The original of a copy (an older sibling one step before it), else the parent."""
    if start.source == "fork":
        for row in by_id.values():
            same = row.parent == start.parent and row.id < start.id
            if same and row.step == start.step - 1:
                return nodes[row.id]
    return nodes.get(start.parent or "")


def resolve(tree: ThreadTree, text: str) -> TreeNode:
    """The checkpoint that `text` names.

    `7`, `b2.9`, `main` or `b2` (its tip), `THREAD@…` with one of these, or the first eight
    or more characters of a checkpoint id. A step that a branch shares with the line it left
    may be named on either. `HeadwayError`: unknown, or more than one.
    """
    thread, _, step = text.rpartition("@")
    if thread and thread != tree.thread_id:
        raise HeadwayError(f"{text} names thread {thread}, not {tree.thread_id}")
    if not step:
        raise HeadwayError(f"{text!r} names no step: write {tree.thread_id}@STEP")
    if step in tree.branches:
        return tree.branches[step].tip
    branch, _, number = step.rpartition(".")
    if number.isdecimal() and (branch or MAIN) in tree.branches:
        found = _numbered(tree, branch or MAIN, int(number))
        if found is not None:
            return found
    return _by_prefix(tree, step)


def _numbered(tree: ThreadTree, branch: str, number: int) -> TreeNode | None:
    line = tree.lineage(tree.branches[branch].tip)
    return next((node for node in line if node.number == number), None)


def _by_prefix(tree: ThreadTree, step: str) -> TreeNode:
    found = [node for i, node in tree.nodes.items() if i.startswith(step)]
    if len(step) < _PREFIX or not found:
        raise HeadwayError(_unknown(tree, step))
    if len(found) > 1 and step != found[0].id:
        names = ", ".join(node.name for node in found[:5])
        raise HeadwayError(f"{step} fits {len(found)} checkpoints ({names}, …): write more of it")
    return found[0]


def _unknown(tree: ThreadTree, step: str) -> str:
    branches = list(tree.branches.values())
    shown = [f"{branch.start.name} to {branch.tip.name}" for branch in branches[:_MOST_BRANCHES]]
    more = len(branches) - len(shown)
    tips = ", ".join([*shown, f"and {more} more branches"] if more else shown)
    older = any(node.parent and node.parent not in tree.nodes for node in tree.nodes.values())
    hint = " (older steps were pruned or not read)" if older else ""
    return f"thread {tree.thread_id} has no step {step}: it has {tips}{hint}"
