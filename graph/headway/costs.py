"""Tokens and money of a run: each reply is counted once, whatever came of it."""

from typing import Any

from langchain_core.messages import AIMessage

from headway.prices import Price, cost_of
from headway.state import Run


def add_reply(
    run: Run, message: AIMessage, *, model: str, estimate: tuple[int, int], price: Price | None
) -> Run:
    """`run` with this reply counted. Without reported usage `estimate` (input, output tokens)
    counts and is marked."""
    usage = message.usage_metadata
    given: dict[str, Any] = dict(usage) if usage else {}
    reported = bool(given.get("input_tokens") or given.get("output_tokens"))
    tokens_in = given.get("input_tokens", 0) if reported else estimate[0]
    tokens_out = given.get("output_tokens", 0) if reported else estimate[1]
    cached = (given.get("input_token_details") or {}).get("cache_read", 0) or 0
    reasoning = (given.get("output_token_details") or {}).get("reasoning", 0) or 0
    counted = _add(
        run, tokens_in, tokens_out, cost_of(model, tokens_in, tokens_out, cached, price=price)
    )
    return {
        **counted,
        "model": model,
        "model_calls": run.get("model_calls", 0) + 1,
        "cached_tokens": run.get("cached_tokens", 0) + cached,
        "reasoning_tokens": run.get("reasoning_tokens", 0) + reasoning,
        "estimated": run.get("estimated", False) or not reported,
    }


def add_attempts(run: Run, attempts: int, *, model: str, tokens: int, price: Price | None) -> Run:
    """`run` with attempts counted that brought no reply but may be on the bill: a provider that
    began to answer charges for at least the input, of which `tokens` is the estimate."""
    if not attempts:
        return run
    spent = attempts * tokens
    return {**_add(run, spent, 0, cost_of(model, spent, 0, price=price)), "estimated": True}


def _add(run: Run, tokens_in: int, tokens_out: int, cost: float | None) -> Run:
    """An unknown price makes the whole sum unknown."""
    known = run.get("cost", 0.0)
    return {
        **run,
        "input_tokens": run.get("input_tokens", 0) + tokens_in,
        "output_tokens": run.get("output_tokens", 0) + tokens_out,
        "cost": None if known is None or cost is None else known + cost,
    }
