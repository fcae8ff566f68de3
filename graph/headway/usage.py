"""Token counts in one form: cached tokens are part of the input, reasoning part of the output.

Servers disagree (xAI reports reasoning beside the output, some caches count beside the input), and
adding a part twice or losing it made bills wrong by 3 to 20 times in the field (LifeOS#137,
tokenops#137).
"""

from collections.abc import Mapping
from typing import Any

from langchain_core.messages import AIMessage
from langchain_core.messages.ai import InputTokenDetails, OutputTokenDetails, UsageMetadata


def normal_usage(message: AIMessage) -> UsageMetadata | None:
    """The usage of one reply, or None where the server reported none (never zeros)."""
    if message.usage_metadata:
        found = message.usage_metadata
        return _usage(
            found["input_tokens"],
            found["output_tokens"],
            (found.get("input_token_details") or {}).get("cache_read"),
            (found.get("output_token_details") or {}).get("reasoning"),
            found.get("total_tokens"),
        )
    for key in ("token_usage", "usage"):
        raw = message.response_metadata.get(key)
        if isinstance(raw, Mapping) and raw:
            return wire_usage(raw)
    return None


def wire_usage(raw: object) -> UsageMetadata | None:
    """The `usage` object of a chat completion, whatever dialect it is written in."""
    if not isinstance(raw, Mapping):
        return None
    inside = _mapping(raw, "prompt_tokens_details", "input_tokens_details")
    outside = _mapping(raw, "completion_tokens_details", "output_tokens_details")
    return _usage(
        _first(raw, "prompt_tokens", "input_tokens"),
        _first(raw, "completion_tokens", "output_tokens"),
        _first(inside, "cached_tokens")
        or _first(raw, "prompt_cache_hit_tokens", "cache_read_input_tokens", "cached_tokens"),
        _first(outside, "reasoning_tokens") or _first(raw, "reasoning_tokens"),
        _first(raw, "total_tokens"),
    )


def _usage(given: Any, made: Any, cached: Any, reasoning: Any, total: Any) -> UsageMetadata | None:
    given, made, cached, reasoning = (_count(value) for value in (given, made, cached, reasoning))
    if not given and not made:
        return None
    if cached > given:
        given += cached
    if reasoning > made or (reasoning and _count(total) == given + made + reasoning):
        made += reasoning
    usage = UsageMetadata(input_tokens=given, output_tokens=made, total_tokens=given + made)
    if cached:
        usage["input_token_details"] = InputTokenDetails(cache_read=cached)
    if reasoning:
        usage["output_token_details"] = OutputTokenDetails(reasoning=reasoning)
    return usage


def _count(value: Any) -> int:
    ok = isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value < 1 << 53
    return int(value) if ok else 0


def _first(raw: Mapping[str, Any], *keys: str) -> Any:
    return next((raw[key] for key in keys if raw.get(key) is not None), None)


def _mapping(raw: Mapping[str, Any], *keys: str) -> Mapping[str, Any]:
    found = _first(raw, *keys)
    return found if isinstance(found, Mapping) else {}
