"""What a run has left of its limits, decided before a call is sent."""

from headway.limits import Limits
from headway.state import Run
from headway.status import LimitKind


def reached(
    run: Run, limits: Limits, next_tokens: int, next_cost: float | None = None
) -> LimitKind | None:
    """The limit that forbids another model call, given an estimate of its input: tokens, and US
    dollars where the price is known."""
    if run.get("model_calls", 0) >= limits.model_calls:
        return "model_calls"
    if limits.seconds is not None and run.get("seconds", 0.0) >= limits.seconds:
        return "seconds"
    if limits.tokens is not None and tokens(run) + next_tokens > limits.tokens:
        return "tokens"
    return "cost" if _too_dear(run, limits, next_cost) else None


def last_call(
    run: Run, limits: Limits, next_tokens: int, next_cost: float | None = None
) -> LimitKind | None:
    """The limit for which the next model call is the kept one, made without tools."""
    if run.get("model_calls", 0) + 1 >= limits.model_calls:
        return "model_calls"
    if limits.tokens is not None and tokens(run) + 2 * next_tokens > limits.tokens:
        return "tokens"
    if next_cost is not None and _too_dear(run, limits, 2 * next_cost):
        return "cost"
    if run.get("refused_calls") and tool_calls_left(run, limits) == 0:
        return "tool_calls"
    return None


def _too_dear(run: Run, limits: Limits, next_cost: float | None) -> bool:
    spent = run.get("cost", 0.0)
    if limits.cost is None or spent is None:
        return False
    return spent >= limits.cost or spent + (next_cost or 0.0) > limits.cost


def tokens(run: Run) -> int:
    """Input and output tokens so far."""
    return run.get("input_tokens", 0) + run.get("output_tokens", 0)


def tool_calls_left(run: Run, limits: Limits) -> int | None:
    """Tool executions that may still happen; None = no limit."""
    if limits.tool_calls is None:
        return None
    return max(0, limits.tool_calls - run.get("tool_calls", 0))


def seconds_left(run: Run, limits: Limits, most: float) -> float:
    """Seconds that the next call may take: `most`, less where the run's time ends earlier."""
    if limits.seconds is None:
        return most
    return max(0.05, min(most, limits.seconds - run.get("seconds", 0.0)))


def seconds_in_all(run: Run, limits: Limits) -> float | None:
    """Seconds that one call may take with all its attempts and waits; None = no limit."""
    return None if limits.seconds is None else seconds_left(run, limits, limits.seconds)


def left(run: Run, limits: Limits) -> str:
    """What is left, for the model at the end of the newest observation; "" while there is plenty
    (the whole budget stands in the system prompt)."""
    calls = limits.model_calls - run.get("model_calls", 0)
    if calls <= 0:
        return ""
    if calls == 1:
        return (
            "Last reply, without tools: give the final answer from what is established, and say "
            "what is missing."
        )
    tools = tool_calls_left(run, limits)
    if tools == 0:
        return f"left: {calls} replies, no tool call: answer from what is established"
    scarce = calls <= max(2, limits.model_calls // 4)
    if tools is None or limits.tool_calls is None:
        return f"left: {calls} replies" if scarce else ""
    if scarce or tools <= max(2, limits.tool_calls // 4):
        return f"left: {calls} replies, {tools} tool calls"
    return ""
