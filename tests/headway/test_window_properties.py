"""Pairs, tasks and prefix stay, whatever the history and the window."""

import json
from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage, ToolMessage
from window_support import SYSTEM, TASK, assert_paired, fitted

from headway.notes import from_headway
from headway.window import estimate_tokens
from headway.window.fit import applied

texts = st.one_of(
    st.text(max_size=40),
    st.integers(0, 12_000).map(lambda n: "é👩‍👩‍👧 word\n" * (n // 10)),
    st.integers(0, 12_000).map(lambda n: "a" * n),
)


@st.composite
def histories(draw: st.DrawFn) -> list[BaseMessage]:
    messages: list[BaseMessage] = [SYSTEM, HumanMessage(TASK, id="task")]
    for number in range(draw(st.integers(0, 12))):
        kind = draw(st.sampled_from(["calls", "calls", "calls", "answer", "human", "note"]))
        if kind == "human":
            messages.append(HumanMessage(draw(st.text(max_size=30)), id=f"h{number}"))
        elif kind == "note":
            messages.append(from_headway(draw(texts)).model_copy(update={"id": f"n{number}"}))
        elif kind == "answer":
            messages.append(AIMessage(draw(texts), id=f"f{number}"))
        else:
            ids = [f"{number}-{i}" for i in range(draw(st.integers(1, 3)))]
            calls = [{"id": i, "name": "bash", "args": {"command": draw(texts)}} for i in ids]
            messages.append(AIMessage(draw(texts), id=f"a{number}", tool_calls=calls))
            messages += [ToolMessage(draw(texts), id=f"t{i}", tool_call_id=i) for i in ids]
    return messages


def check_request(messages: list[BaseMessage], window: int, shrink: bool) -> None:
    request, state = fitted(messages, window, shrink=shrink)
    assert_paired(request)
    humans = [m for m in messages if isinstance(m, HumanMessage) and m.name is None]
    assert [m for m in request if isinstance(m, HumanMessage) and m.name is None] == humans
    assert estimate_tokens(request) <= max(
        window - window // 8, least_tokens(messages), 0 if state else estimate_tokens(messages)
    )
    json.dumps([m.content for m in request], ensure_ascii=False).encode()
    longer = [*messages, HumanMessage("go on", id="next")]
    assert applied(longer, json.loads(json.dumps(state)))[: len(request)] == request


@settings(max_examples=60, deadline=None)
@given(histories(), st.integers(50, 20_000), st.booleans())
def test_pairing_tasks_and_prefix_stay_for_every_history_and_budget(
    messages: list[BaseMessage], window: int, shrink: bool
) -> None:
    check_request(messages, window, shrink)


@pytest.mark.slow
@settings(max_examples=500, deadline=None)
@given(histories(), st.integers(50, 20_000), st.booleans())
def test_pairing_tasks_and_prefix_stay_for_every_history_and_budget_at_length(
    messages: list[BaseMessage], window: int, shrink: bool
) -> None:
    check_request(messages, window, shrink)


def least_tokens(messages: Sequence[BaseMessage]) -> int:
    """What a request needs at least: verbatim messages, and a little for each other one."""
    fixed = [m for m in messages if isinstance(m, SystemMessage | HumanMessage) and not m.name]
    others = sum(1 + len(getattr(m, "tool_calls", ())) for m in messages if m not in fixed)
    return estimate_tokens(fixed) + 110 * others + 200
