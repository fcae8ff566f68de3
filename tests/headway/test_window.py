import json
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from langchain_core.messages import (
    AIMessage,
    BaseMessage,
    HumanMessage,
    SystemMessage,
    ToolMessage,
)

from headway.notes import from_headway
from headway.truncation import TruncationLimits, shorten
from headway.window import estimate_tokens, factor_from, fit, overhead_from, written_tokens
from headway.window.fit import applied

TASK = "Make the tests of ./shop pass. Do not touch data/."
SYSTEM = SystemMessage("You work in a folder.", id="system")


def step(
    number: int,
    result: str,
    *,
    name: str = "bash",
    args: dict[str, Any] | None = None,
    thought: str = "",
    status: str = "success",
) -> list[BaseMessage]:
    call = {"id": f"c{number}", "name": name, "args": args or {"command": f"make part{number}"}}
    return [
        AIMessage(thought, id=f"a{number}", tool_calls=[call]),
        ToolMessage(result, id=f"t{number}", tool_call_id=f"c{number}", name=name, status=status),
    ]


def conversation(*steps: list[BaseMessage]) -> list[BaseMessage]:
    return [SYSTEM, HumanMessage(TASK, id="task"), *(m for one in steps for m in one)]


def steps(count: int, size: int) -> list[BaseMessage]:
    return conversation(*(step(i, f"result {i} " + "x" * size) for i in range(count)))


def assert_paired(messages: Sequence[BaseMessage]) -> None:
    """Every call is answered once, in order, directly behind its message; nothing else is."""
    expected: list[str | None] = []
    for message in messages:
        if isinstance(message, ToolMessage):
            assert expected
            assert message.tool_call_id == expected.pop(0)
        else:
            assert not expected
            if isinstance(message, AIMessage):
                expected = [call["id"] for call in message.tool_calls]
    assert not expected


def sent(messages: Sequence[BaseMessage]) -> list[str]:
    return [
        json.dumps([m.type, m.content, getattr(m, "tool_calls", None)], sort_keys=True)
        for m in messages
    ]


def fitted(
    messages: list[BaseMessage], window: int, before: dict[str, Any] | None = None, **more: Any
) -> tuple[list[BaseMessage], dict[str, Any]]:
    fitted = fit(
        messages,
        window=window,
        reserve=window // 8,
        overhead=overhead_from(messages, 1.0),
        factor=1.0,
        shortened_before=before or {},
        **more,
    )
    assert fitted.tokens(1.0) == estimate_tokens(fitted.messages)
    return fitted.messages, fitted.shortened


def test_a_conversation_within_the_window_is_sent_as_it_is() -> None:
    messages = steps(5, 100)
    assert fitted(messages, 8_000) == (messages, {})


def test_older_observations_are_shortened_and_the_history_is_not() -> None:
    messages = steps(20, 2_000)
    copy = [m.model_copy(deep=True) for m in messages]
    request, _ = fitted(messages, 8_000)
    assert estimate_tokens(request) < 7_000
    assert messages == copy
    assert request[:2] == messages[:2]
    assert request[-2:] == messages[-2:]
    assert_paired(request)


def test_human_messages_stay_verbatim_even_when_all_else_is_shortened() -> None:
    long_task = "the exact task " * 300
    messages = [SYSTEM, HumanMessage(long_task, id="h"), *steps(60, 3_000)[2:]]
    messages += [AIMessage("half done " * 500, id="answer"), HumanMessage("go on", id="h2")]
    messages += step(99, "y" * 50_000)
    request, _ = fitted(messages, 8_000)
    assert [m.content for m in request if isinstance(m, HumanMessage)] == [long_task, "go on"]
    assert estimate_tokens(request) <= 7_000


def test_what_was_done_changed_and_said_and_the_last_failure_stay() -> None:
    messages = conversation(
        step(1, "{}", name="edit", args={"path": "shop/cart.py", "old": "a", "new": "b"}),
        step(2, "refused", name="edit", args={"path": "data/x.csv"}, status="error"),
        step(3, '{"ok": true, "exit_code": 1, "output": "KeyError: \'sku\'"}', thought="Try sku."),
        *(step(i, "x" * 5_000, thought=f"Part {i} is next.") for i in range(4, 40)),
    )
    request, _ = fitted(messages, 8_000)
    text = "\n".join(str(m.content) for m in request)
    assert len(request) < len(messages)
    assert "shop/cart.py" in text
    assert "data/x.csv" not in text.split("Files changed")[1].split("What you")[0]
    assert "KeyError: 'sku'" in text
    assert "Part 30 is next." in text


def test_files_that_the_caller_knows_to_have_changed_are_listed() -> None:
    request, _ = fitted(steps(60, 3_000), 8_000, changed=["made/by/a/command.txt"])
    assert "made/by/a/command.txt" in "\n".join(str(m.content) for m in request)


@pytest.mark.parametrize("window", [3_000, 16_000, 1_000_000])
def test_a_request_made_from_the_one_before_is_the_one_made_anew(window: int) -> None:
    history = conversation()
    state: dict[str, Any] = {}
    earlier = None
    for number in range(40):
        history = [*history, *step(number, f"{number} " + "z" * 3_000)]
        options: dict[str, Any] = {"window": window, "reserve": 500, "factor": 1.0}
        anew = fit(history, **options, shortened_before=state)
        earlier = fit(history, **options, shortened_before=state, earlier=earlier)
        assert earlier == anew
        state = earlier.shortened
        if number == 20:
            history = [*history[:4], *history[6:]]


def test_the_prefix_stays_the_same_from_call_to_call_except_in_few_large_steps() -> None:
    history = conversation()
    state: dict[str, Any] = {}
    last: list[str] = []
    breaks = 0
    for number in range(100):
        history += step(number, f"{number} " + "z" * 3_000)
        request, state = fitted(history, 16_000, state)
        now = sent(request)
        assert estimate_tokens(request) <= 14_000
        assert_paired(request)
        breaks += now[: len(last)] != last
        last = now
    assert 0 < breaks <= 15
    assert state["step"] == breaks


def test_nothing_breaks_the_prefix_over_forty_steps_that_fit() -> None:
    history = conversation()
    state: dict[str, Any] = {}
    last: list[str] = []
    for number in range(40):
        history += step(number, "z" * 1_000)
        request, state = fitted(history, 100_000, state)
        assert sent(request)[: len(last)] == last
        last = sent(request)


def test_a_hundred_steps_of_100_kb_keep_the_exact_task_in_a_window_of_8000_tokens() -> None:
    history = conversation()
    state: dict[str, Any] = {}
    for number in range(100):
        whole = "\n".join(f"{number}: row {i} of a table" for i in range(4_000))
        seen = shorten(
            whole,
            limits=TruncationLimits(),
            output=f"o-{number:08x}",
            name="bash",
            tools=frozenset({"read_output"}),
        )
        history += step(number, seen)
        request, state = fitted(history, 8_000, state)
        assert estimate_tokens(request) <= 7_000
        assert request[1].content == TASK
        assert "row 3999 of a table" in str(request[-1].content)
        assert_paired(request)
    assert 20 < state["step"] <= 100


def test_what_is_shortened_is_plain_data_that_survives_json() -> None:
    messages = steps(60, 3_000)
    request, state = fitted(messages, 8_000)
    again, same = fitted(messages, 8_000, json.loads(json.dumps(state)))
    assert (again, same) == (request, state)


def test_a_batch_too_large_by_itself_is_shortened_in_the_request() -> None:
    calls = [{"id": f"c{i}", "name": "read_file", "args": {"path": f"{i}"}} for i in range(12)]
    messages = conversation(
        [
            AIMessage("", id="a", tool_calls=calls),
            *(ToolMessage("w" * 12_000, id=f"t{i}", tool_call_id=f"c{i}") for i in range(12)),
        ]
    )
    request, _ = fitted(messages, 8_000)
    assert estimate_tokens(request) <= 7_000
    assert_paired(request)


def test_large_arguments_are_shortened_and_stay_objects() -> None:
    big = {"path": "a.py", "content": "print()\n" * 20_000, "lines": ["q" * 9_000] * 3}
    request, _ = fitted(conversation(*(step(i, "ok", args=big) for i in range(3))), 8_000)
    reply = next(m for m in request if isinstance(m, AIMessage))
    assert estimate_tokens(request) <= 7_000
    assert reply.tool_calls[0]["args"]["path"] == "a.py"


def test_a_refused_request_is_shortened_further_and_stays_so() -> None:
    messages = steps(20, 2_000)
    whole, none = fitted(messages, 100_000)
    request, state = fitted(messages, 100_000, none, shrink=True)
    assert estimate_tokens(request) <= estimate_tokens(whole) * 0.6
    later = messages + step(50, "x" * 30_000)
    request, _ = fitted(later, 100_000, state)
    assert estimate_tokens(request) < estimate_tokens(whole)
    assert fitted(later, 100_000, state)[1]["step"] == 2
    assert fitted(later, 200_000, state)[1] == state


def test_a_shortened_observation_keeps_the_id_of_its_whole() -> None:
    seen = 'a\n[… 9 lines; read on: read_output(id="o-0123abcd", start=3) …]\n' + "b\n" * 900
    messages = conversation(*(step(i, seen) for i in range(12)))
    request, _ = fitted(messages, 6_000)
    assert 'the whole: read_output(id="o-0123abcd")' in str(request[3].content)
    request, _ = fitted(messages, 2_000)
    assert "ok, output o-0123abcd" in "".join(str(m.content) for m in request)


def test_notes_of_headway_are_no_task() -> None:
    messages = [*steps(4, 10), AIMessage("done", id="d"), from_headway("n" * 60_000)]
    messages[-1].id = "note"
    request, _ = fitted(messages, 8_000)
    assert estimate_tokens(request) <= 7_000


def test_a_state_whose_messages_are_gone_does_nothing() -> None:
    messages = steps(3, 10)
    old = {"step": 4, "caps": [{"through": "gone", "characters": 80}], "dropped": "gone"}
    assert fitted(messages, 8_000, old)[0] == messages


def test_images_in_older_observations_are_left_out() -> None:
    image = [{"type": "text", "text": "a chart"}, {"type": "image", "base64": "A" * 90_000}]
    messages = conversation(*(step(i, image) for i in range(8)))  # type: ignore[arg-type]
    request, _ = fitted(messages, 8_000)
    assert estimate_tokens(request) <= 7_000
    assert "a chart" in str(request)


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
