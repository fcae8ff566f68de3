"""What a token costs is learnt from the usage that replies report."""

import pytest
from langchain_core.messages import AIMessage, BaseMessage
from window_support import fitted, steps

from headway.window import estimate_tokens, factor_from, written_tokens


def replies_with_usage(ratio: float, tools: int, count: int) -> list[BaseMessage]:
    messages = steps(count, 1_000)
    for place, message in enumerate(messages):
        if isinstance(message, AIMessage):
            used = int(tools + ratio * estimate_tokens(messages[:place]))
            message.usage_metadata = {
                "input_tokens": used,
                "output_tokens": 1,
                "total_tokens": used + 1,
            }
    return messages


@pytest.mark.parametrize("ratio", [0.7, 1.0, 1.9])
@pytest.mark.parametrize("tools", [0, 3_000])
def test_the_factor_is_learnt_from_reported_usage_without_the_tools(
    ratio: float, tools: int
) -> None:
    assert factor_from(replies_with_usage(ratio, tools, 8)) == pytest.approx(ratio, rel=0.05)


def test_the_factor_ignores_calls_whose_request_was_shortened() -> None:
    messages = replies_with_usage(1.3, 0, 8)
    for message in messages[-6:]:
        if isinstance(message, AIMessage) and message.usage_metadata:
            message.usage_metadata["input_tokens"] -= 1_500
    assert factor_from(messages) == pytest.approx(1.3, rel=0.05)


def test_reasoning_that_stays_with_its_reply_takes_no_room() -> None:
    messages = steps(20, 600)
    thinking = [
        m.model_copy(update={"additional_kwargs": {"reasoning_content": "hm, " * 1_000}})
        if isinstance(m, AIMessage)
        else m
        for m in messages
    ]
    assert fitted(thinking, 8_000) == (thinking, {})
    assert written_tokens(thinking[2]) > written_tokens(messages[2]) + 900  # type: ignore[arg-type]


def test_without_usage_the_factor_is_one() -> None:
    assert factor_from(steps(3, 100)) == 1.0
    assert factor_from([]) == 1.0


def test_the_tools_that_the_first_reply_paid_for_count_towards_the_window() -> None:
    messages = replies_with_usage(1.0, 3_000, 9)
    free = [m.model_copy(update={"usage_metadata": None}) for m in messages]
    assert fitted(free, 6_000)[1] == {}
    assert fitted(messages, 6_000)[1] != {}
