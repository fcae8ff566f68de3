"""What a tool declares about itself, in its `metadata["headway"]`."""

from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any, Literal

from langchain_core.tools import BaseTool
from langchain_core.tools import tool as make_tool

from headway_tools.isolated import isolate

Kind = Literal["read", "write", "poll"]

_KEY = "headway"


@dataclass(frozen=True)
class Declaration:
    """`read` changes nothing, `write` may change anything, `poll` waits for something outside."""

    kind: Kind = "write"
    own: bool = False
    """Ours: keeps its own time limit and stops at once when cancelled."""
    idempotent: bool = False
    """May be repeated after a crash without harm."""
    neutral: bool = False
    """Says nothing about progress (think)."""
    isolated: bool = False
    """Runs in a process of its own that can be killed."""
    counter: str | None = None
    """Field of the JSON result that counts what is left to do (fewer is better)."""


def declare(
    tool: BaseTool | Callable[..., Any],
    kind: Kind = "write",
    *,
    idempotent: bool = False,
    isolated: bool = False,
    neutral: bool = False,
    own: bool = False,
    counter: str | None = None,
) -> BaseTool:
    """`tool` (a LangChain tool or a function) with its declaration; undeclared means `write`.

    Raises `HeadwayError` where `isolated` is asked for a tool that a process cannot find.
    """
    made = tool if isinstance(tool, BaseTool) else make_tool(tool)
    if isolated:
        made, own = isolate(made), True
    declaration = Declaration(kind, own, idempotent, neutral, isolated, counter)
    return made.model_copy(
        update={"metadata": {**(made.metadata or {}), _KEY: asdict(declaration)}}
    )


def declaration_of(tool: BaseTool | None) -> Declaration:
    """What `tool` declares; `Declaration()` where it declares nothing."""
    given = (tool.metadata or {}).get(_KEY) if tool is not None else None
    return Declaration(**given) if isinstance(given, dict) else Declaration()
