"""Limits from a depth, money checked before a call, waits that fit into the run's time."""

import pytest
from wire_support import ASK, opened

from headway.limits import Depth, Limits
from headway.models.call import call_model
from headway.models.failure import ModelFailure
from headway.models.retry import RetryPolicy
from headway.prices import cost_of
from headway.spending import last_call, reached
from headway_tools.errors import HeadwayError
from openai_server import OpenAIServer, fails, says

DEAR = "openai:gpt-4o"


@pytest.mark.parametrize(("depth", "tools"), [("simple", 2), ("ordinary", 3), ("hard", 5)])
def test_a_depth_gives_its_calls_and_one_for_the_answer(depth: Depth, tools: int) -> None:
    limits = Limits.for_depth(depth, cost_ceiling=0.5, model=DEAR)
    assert (limits.tool_calls, limits.model_calls, limits.cost) == (tools, tools + 1, 0.5)


@pytest.mark.parametrize(
    ("depth", "ceiling"), [("very hard", None), ("hard", 0.001), ("simple", 0.0), ("simple", -1)]
)
def test_what_does_not_fit_is_refused_with_split_the_task(
    depth: Depth, ceiling: float | None
) -> None:
    with pytest.raises(HeadwayError, match="split the task"):
        Limits.for_depth(depth, cost_ceiling=ceiling, model=DEAR)


def test_without_a_known_price_a_ceiling_foretells_nothing() -> None:
    assert Limits.for_depth("hard", cost_ceiling=0.001, model="openai:mine").cost == 0.001


@pytest.mark.parametrize(
    ("spent", "following", "stop", "last"),
    [
        (0.0, 0.4, None, None),
        (0.4, 0.4, None, "cost"),
        (0.4, 0.7, "cost", "cost"),
        (1.0, 0.0, "cost", "cost"),
        (0.4, None, None, None),
        (None, None, None, None),
    ],
)
def test_money_is_checked_before_a_call(
    spent: float | None, following: float | None, stop: str | None, last: str | None
) -> None:
    limits = Limits(cost=1.0)
    assert reached({"cost": spent}, limits, 10, following) == stop
    assert last_call({"cost": spent}, limits, 10, following) == last


def test_prices_are_exact_own_or_unknown() -> None:
    assert cost_of(DEAR, 1_000_000, 0) == 2.5
    assert cost_of("m", 1_000_000, 0, price=(0.0, 0.0)) == 0.0
    assert cost_of("openai:mine", 1, 1) is None
    assert cost_of("gpt-4o", 1, 1) is None, "a local server may serve any name"


@pytest.mark.parametrize("after", ["40", "59"])
def test_a_wait_that_does_not_fit_is_not_begun(after: str) -> None:
    with OpenAIServer([fails(429, "busy", retry_after=after), says("ok")]) as server:
        with pytest.raises(ModelFailure) as caught:
            call_model(opened(server.url), ASK, within=30, retries=RetryPolicy())
        assert (caught.value.retry_after, len(server.requests)) == (float(after), 1)
