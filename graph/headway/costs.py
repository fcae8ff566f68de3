"""Tokens and money of a run: each reply is counted once."""

from functools import lru_cache
from typing import Any

from langchain_core.messages import AIMessage

from headway.state import Run


def add_reply(run: Run, message: AIMessage, *, model: str, estimate: tuple[int, int]) -> Run:
    """`run` with this reply counted. Without reported usage `estimate` (input, output tokens)
    counts and is marked."""
    usage = message.usage_metadata
    given: dict[str, Any] = dict(usage) if usage else {}
    reported = bool(given.get("input_tokens") or given.get("output_tokens"))
    tokens_in = given.get("input_tokens", 0) if reported else estimate[0]
    tokens_out = given.get("output_tokens", 0) if reported else estimate[1]
    cached = (given.get("input_token_details") or {}).get("cache_read", 0) or 0
    reasoning = (given.get("output_token_details") or {}).get("reasoning", 0) or 0
    known = run.get("cost", 0.0)
    price = cost_of(model, tokens_in, tokens_out, cached)
    return {
        **run,
        "model": model,
        "model_calls": run.get("model_calls", 0) + 1,
        "input_tokens": run.get("input_tokens", 0) + tokens_in,
        "output_tokens": run.get("output_tokens", 0) + tokens_out,
        "cached_tokens": run.get("cached_tokens", 0) + cached,
        "reasoning_tokens": run.get("reasoning_tokens", 0) + reasoning,
        "estimated": run.get("estimated", False) or not reported,
        "cost": None if known is None or price is None else known + price,
    }


@lru_cache(maxsize=1)
def _prices() -> Any:
    try:
        import genai_prices
    except ImportError:
        return None
    return genai_prices


def cost_of(model: str, input_tokens: int, output_tokens: int, cached: int = 0) -> float | None:
    """US dollars by the offline data of genai-prices (extra `prices`); None where unknown.

    `model` is `provider:name`: a local server may serve any name, so a bare one has no price.
    """
    prices = _prices()
    provider, _, name = model.partition(":")
    if prices is None or not name:
        return None
    usage = prices.Usage(
        input_tokens=input_tokens,
        output_tokens=output_tokens,
        cache_read_tokens=min(cached, input_tokens),
    )
    try:
        return float(prices.calc_price(usage, model_ref=name, provider_id=provider).total_price)
    except (LookupError, ValueError):
        return None
