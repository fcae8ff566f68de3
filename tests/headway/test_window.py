"""A request within its window: what is shortened, what stays verbatim, and the steady prefix."""

import json
from typing import Any

import pytest
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage
from window_support import SYSTEM, TASK, assert_paired, conversation, fitted, sent, step, steps

from headway.notes import from_headway
from headway.truncation import TruncationLimits, shorten
from headway.window import estimate_tokens, fit


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
