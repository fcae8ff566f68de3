"""What tokens cost: the caller's own price, else the offline data of the extra `prices`."""

from functools import lru_cache
from typing import Any, Final

from headway.extras import how_to_install

Price = tuple[float, float]
"""US dollars for a million input tokens and a million output tokens; (0, 0) is free."""

MILLION: Final = 1_000_000


def cost_of(
    model: str,
    input_tokens: int,
    output_tokens: int,
    cached: int = 0,
    *,
    price: Price | None = None,
) -> float | None:
    """US dollars; None where the price is not known.

    `model` is `provider:name`: a local server may serve any name, so a bare one has no price.
    `cached` tokens are part of the input; the caller's own `price` makes no difference for them.
    """
    if price is not None:
        return (input_tokens * price[0] + output_tokens * price[1]) / MILLION
    prices = _data()
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


def unknown(model: str) -> str:
    """The sentence that says once why a limit of cost cannot hold."""
    fix = "" if _data() else f"; the extra `prices` knows most models: {how_to_install('prices')}"
    return f"the price of {model} is not known, so only the other limits hold{fix}"


@lru_cache(maxsize=1)
def _data() -> Any:
    try:
        import genai_prices
    except ImportError:
        return None
    return genai_prices
