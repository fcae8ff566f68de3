"""What each step did: status, tokens, seconds, tools and messages, for a page of a branch."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Literal

from langchain_core.messages import AIMessage, BaseMessage, ToolMessage

from headway_debugger.backend import MESSAGES, Backend
from headway_debugger.normal import messages_in
from headway_debugger.tree import ThreadTree, TreeNode

StepStatus = Literal["done", "tool_error", "waiting", "failed", "unfinished", "ended"]
"""`tool_error`: a tool answered with an error. The last four are of tips only: a question waits,
an exception stopped it, it can go on, nothing is left to run."""


@dataclass(frozen=True)
class Tokens:
    """As the server reported them; zero where it reported none."""

    input: int = 0
    output: int = 0

    def __add__(self, other: "Tokens") -> "Tokens":
        return Tokens(self.input + other.input, self.output + other.output)


@dataclass(frozen=True)
class Step:
    """One checkpoint and what the tasks that made it wrote."""

    node: TreeNode
    next: tuple[str, ...]
    status: StepStatus
    tokens: Tokens
    seconds: float | None
    """Since its parent, so a wait for a person counts; None for a first step or a copy."""
    tools: tuple[str, ...]
    """Tools called or answered, in order."""
    messages: tuple[BaseMessage, ...]


def steps(backend: Backend, tree: ThreadTree, nodes: Iterable[TreeNode]) -> list[Step]:
    """The steps of `nodes`, for instance `tree.branches["main"].nodes[-50:]`.

    Reads the messages of these steps only, and the state of tips only.
    """
    page = list(nodes)
    parents = {node.parent for node in page if made_by_tasks(node) and node.parent}
    produced = backend.produced(tree.thread_id, sorted(parents))
    return [
        _step(
            node,
            tree,
            _following(backend, tree, node),
            written(backend, tree, node, produced),
        )
        for node in page
    ]


def written(
    backend: Backend,
    tree: ThreadTree,
    node: TreeNode,
    produced: Mapping[str, list[BaseMessage]],
) -> list[BaseMessage]:
    """The messages of a step: its tasks' (`produced`, by parent), or those set by an edit."""
    if made_by_tasks(node):
        return produced.get(node.parent or "", [])
    if "edit" in node.marks:
        loose = backend.loose_writes(tree.thread_id, node.id)
        return messages_in([loose.get(MESSAGES, [])])
    return []


def tokens_of(messages: Iterable[BaseMessage]) -> Tokens:
    """Reported usage of all replies among `messages`."""
    total = Tokens()
    for message in messages:
        if isinstance(message, AIMessage) and message.usage_metadata:
            usage = message.usage_metadata
            total += Tokens(usage["input_tokens"], usage["output_tokens"])
    return total


def tool_names(messages: Iterable[BaseMessage]) -> tuple[str, ...]:
    """Names of the tools that `messages` call or answer for, in order."""
    names: list[str] = []
    for message in messages:
        if isinstance(message, AIMessage):
            names.extend(call["name"] for call in message.tool_calls)
        elif isinstance(message, ToolMessage) and message.name:
            names.append(message.name)
    return tuple(names)


def made_by_tasks(node: TreeNode) -> bool:
    """A copy's parent holds the writes of the original, an input's those of no task."""
    return node.source in ("loop", "update")


def _following(backend: Backend, tree: ThreadTree, node: TreeNode) -> tuple[str, ...]:
    if node.next is not None:
        return node.next
    return tuple(backend.snapshot(tree.thread_id, node.id).next)


def _step(
    node: TreeNode, tree: ThreadTree, following: tuple[str, ...], messages: list[BaseMessage]
) -> Step:
    return Step(
        node=node,
        next=following,
        status=_status(node, tree, following, messages),
        tokens=tokens_of(messages),
        seconds=_seconds(node, tree),
        tools=tool_names(messages),
        messages=tuple(messages),
    )


def _status(
    node: TreeNode, tree: ThreadTree, following: tuple[str, ...], messages: list[BaseMessage]
) -> StepStatus:
    if node is tree.branches[node.branch].tip:
        if not following:
            return "ended"
        if "error" in node.marks:
            return "failed"
        return "waiting" if "interrupt" in node.marks else "unfinished"
    if any(isinstance(m, ToolMessage) and m.status == "error" for m in messages):
        return "tool_error"
    return "done"


def _seconds(node: TreeNode, tree: ThreadTree) -> float | None:
    parent = tree.nodes.get(node.parent or "")
    if node.source != "loop" or parent is None or not (node.created and parent.created):
        return None
    return (node.created - parent.created).total_seconds()
