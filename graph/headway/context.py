"""Configuration of a run in two halves that never mix.

`Context` is the caller's: on a server a client fills it, so nothing in it can widen what the
operator allowed. `Settings` is the operator's: given to `build_agent`, never part of a request.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from headway.approvals import Ask
from headway.limits import Limits
from headway.models.retry import RetryPolicy
from headway.prices import Price
from headway.progress import ProgressSettings
from headway.truncation import Truncation, TruncationLimits
from headway_tools.errors import HeadwayError
from headway_tools.sandbox import SandboxKind
from headway_tools.storage import Storage

Protocol = Literal["auto", "native", "text"]
"""How tools are called: as the server offers it, by lines of text, or natively until a server
refuses."""

ASK_ORDER: Final[tuple[Ask, ...]] = ("never", "edits", "all")

CHECK_TIMEOUT: Final = 600.0
"""Seconds that the caller's check may take."""


class Context(BaseModel):
    """The caller's half. Every field left out means: as the agent was built."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    model: str | None = Field(
        default=None,
        description="provider:model, one of those that the operator allows",
        json_schema_extra={"langgraph_nodes": ["agent"], "langgraph_type": "model"},
    )
    limits: Limits | None = Field(
        default=None, description="bounds of the run, each at most the operator's"
    )
    instructions: str = Field(
        default="",
        max_length=20_000,
        description="added to the system prompt",
        json_schema_extra={"langgraph_nodes": ["agent"], "langgraph_type": "prompt"},
    )
    ask: Ask | None = Field(
        default=None, description="approvals, at least as strict as the operator's"
    )
    thoughts: bool | None = Field(
        default=None, description="ask for a thought after each observation"
    )


@dataclass(frozen=True)
class Settings:
    """The operator's half."""

    model: str | None = None
    """`provider:model`, resolved at the first model call."""
    models: tuple[str, ...] = ()
    """Further names that a caller may choose."""
    base_url: str | None = None
    api_key: str | None = field(default=None, repr=False)
    model_args: dict[str, Any] = field(default_factory=dict)
    protocol: Protocol = "auto"
    limits: Limits = Limits()
    price: Price | None = None
    """Of models that the built-in prices do not know, or (0, 0) for free ones."""
    workspace: Path | None = None
    root: Path | None = None
    """The real folder, where it differs from `workspace` (a copy, a branch)."""
    workspace_root: Path | None = None
    """A server's: each thread gets a folder of its own below."""
    sandbox: SandboxKind = "bubblewrap"
    network: bool = False
    protect: tuple[str, ...] = ()
    hide: tuple[str, ...] | None = None
    read_only: tuple[Path, ...] = ()
    check: str | None = None
    verify: Callable[..., Any] | None = None
    response_format: type[BaseModel] | None = None
    system_prompt: str | None = None
    instructions: str = ""
    thoughts: bool = False
    ask: Ask = "never"
    allow: tuple[str, ...] = ()
    """Rules `tool` or `tool(pattern)` of calls that need no asking."""
    interactive: bool = False
    """Somebody can answer: `ask_user` is bound, destructive commands are asked about."""
    on_stop: Literal["return", "ask"] = "return"
    progress: ProgressSettings = ProgressSettings()
    truncation: Truncation = TruncationLimits()
    """For all tools, by tool, or a function of the tool; None is off."""
    window: int | None = None
    """Tokens of the model's context; None: from the model's profile, else a default."""
    retries: RetryPolicy = RetryPolicy()
    home: Path | None = None
    storage: Storage | None = None
    """Of journal, snapshots and locks; None: in `home`."""
    memory: bool = False
    """Keep journal and snapshots in memory only: no file outside the workspace."""


def coerce_context(given: object) -> Context:
    """The caller's context from whatever LangGraph hands over.

    None (nothing passed), a dict, a parent's own context (its `headway` field), or `Context`.
    Raises `HeadwayError` for values of a wrong type.
    """
    if isinstance(given, Context):
        return given
    if given is None:
        return Context()
    nested = given.get("headway") if isinstance(given, dict) else getattr(given, "headway", None)
    if isinstance(nested, Context):
        return nested
    data = nested if isinstance(nested, dict) else given if isinstance(given, dict) else {}
    try:
        return Context.model_validate(data)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"])
        raise HeadwayError(f"context.{where}: {first['msg']}") from error


def effective_limits(settings: Settings, context: Context) -> Limits:
    """The caller's limits, each at most the operator's."""
    return context.limits.capped_by(settings.limits) if context.limits else settings.limits


def effective_ask(settings: Settings, context: Context) -> Ask:
    """The stricter of both."""
    asked: tuple[Ask, Ask] = (settings.ask, context.ask or "never")
    return max(asked, key=ASK_ORDER.index)


def effective_model(settings: Settings, context: Context) -> str | None:
    """The name of the model to call; a caller may only choose what the operator listed."""
    if context.model is None or context.model == settings.model:
        return settings.model
    if context.model not in settings.models:
        allowed = ", ".join(filter(None, (settings.model, *settings.models))) or "none"
        raise HeadwayError(f"model {context.model!r} is not offered here; choose from: {allowed}")
    return context.model
