"""The request for the model, rebuilt the same way by the agent node and the debugger."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import BaseMessage, SystemMessage
from langchain_core.tools import BaseTool
from typing_extensions import TypedDict

from headway.context import Context, effective_limits
from headway.history import mend
from headway.parts import Parts, digest
from headway.prefix import Prefix, extended
from headway.prices import cost_of
from headway.prompt import system_prompt
from headway.protocol import TextProtocol
from headway.spending import last_call
from headway.state import State
from headway.status import LimitKind
from headway.window import estimate_tokens, factor_from, fit, overhead_from
from headway_tools.errors import HeadwayError
from headway_tools.values import clean_text

DEFAULT_WINDOW: Final = 128_000
"""Tokens assumed where neither setting nor model data say otherwise."""

DEFAULT_RESERVE: Final = 4_096
"""Tokens kept free for the reply."""


@dataclass(frozen=True)
class Request:
    """What leaves for the model."""

    messages: list[BaseMessage]
    tools: list[BaseTool]
    tokens: int
    """Estimated input tokens, those of the tools included."""
    window: dict[str, Any]
    """What is shortened in it; goes back into state so that the prefix stays the same."""
    closing: LimitKind | None
    """The limit that makes this the kept last call, without tools."""
    prefix: Prefix
    """What is known of the history that it was made from."""


def build(
    state: State,
    *,
    parts: Parts,
    context: Context,
    model: BaseChatModel | None = None,
    shrink: bool = False,
) -> Request:
    """The request that follows `state`. `shrink` shortens once more, after a server said that
    the context is too long."""
    limits = effective_limits(parts.settings, context)
    window = window_tokens(parts, model)
    history, run = state.get("messages", []), state.get("hw_run", {})
    run_id = run.get("id", "")
    prefix = _known(history, parts, run_id)
    system = SystemMessage(clean_text(_system(parts, context, state)))
    messages = [system, *history] if prefix.valid else mend([system, *history])
    factor = factor_from(history)
    overhead = overhead_from(messages, factor) or int(parts.tool_weight * factor)
    fitted = fit(
        messages,
        window=window,
        reserve=min(DEFAULT_RESERVE, window // 4),
        overhead=overhead,
        factor=factor,
        shortened_before=state.get("hw_window", {}),
        earlier=parts.fitted.get(run_id),
        shrink=shrink,
        changed=run.get("changed", []),
    )
    parts.fitted.put(run_id, fitted)
    tokens = fitted.tokens(factor) + overhead
    cost = cost_of(run.get("model", ""), tokens, 0, price=parts.settings.price)
    closing = last_call(run, limits, tokens, cost)
    return Request(
        messages=fitted.messages,
        tools=[] if closing else list(parts.tools),
        tokens=tokens - overhead if closing else tokens,
        window=fitted.shortened,
        closing=closing,
        prefix=prefix,
    )


def _known(history: Sequence[BaseMessage], parts: Parts, run_id: str) -> Prefix:
    prefix = extended(parts.prefixes.get(run_id) or Prefix(), history)
    parts.prefixes.put(run_id, prefix)
    return prefix


class Sent(TypedDict):
    """What of a request no message tells, kept with its reply: texts by their digests."""

    model: str
    protocol: str
    window: int
    system: str
    tools: str
    """Empty: the kept last call, without tools."""


def sent(request: Request, *, parts: Parts, model: BaseChatModel | None, name: str) -> Sent:
    """The facts of a request that leaves for `model`."""
    return Sent(
        model=name,
        protocol="text" if isinstance(model, TextProtocol) else "native",
        window=window_tokens(parts, model),
        system=digest(str(request.messages[0].text)),
        tools=parts.tool_digest if request.tools else "",
    )


def require_window(parts: Parts) -> None:
    """`HeadwayError` where the window that was set does not hold what every request begins with."""
    window = parts.settings.window
    if window is None:
        return
    system = SystemMessage(_system(parts, Context(), {}))
    needed = estimate_tokens([system], 1.0) + int(parts.tool_weight)
    if needed >= window:
        raise HeadwayError(
            f"a window of {window:,} tokens is too small: system prompt and tools alone take about "
            f"{needed:,} (--window, in Python window=)"
        )


def window_tokens(parts: Parts, model: BaseChatModel | None) -> int:
    """The setting, else the model's own data, else `DEFAULT_WINDOW`."""
    if parts.settings.window:
        return parts.settings.window
    profile = getattr(model, "profile", None)
    known = profile.get("max_input_tokens") if isinstance(profile, dict) else None
    return known if isinstance(known, int) and known > 0 else DEFAULT_WINDOW


def _system(parts: Parts, context: Context, state: State) -> str:
    settings = parts.settings
    workspace = settings.workspace if settings.workspace_root is None else None
    return system_prompt(
        settings.system_prompt,
        limits=effective_limits(settings, context),
        workspace=str(workspace) if workspace else None,
        check=settings.check,
        instructions="\n\n".join(filter(None, (settings.instructions, context.instructions))),
        thoughts=settings.thoughts if context.thoughts is None else context.thoughts,
    )
