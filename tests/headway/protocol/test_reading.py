"""Replies in the text protocol, as models really write them."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headway.protocol import Reading, read_reply
from headway.protocol.live import Live
from headway.protocol.reading import INVENTED, ONLY_FIRST, TOO_EARLY, TextCall

CALL = TextCall("calculator", '{"expression": "2*3"}')


EXPRESSION = '{"expression": "2*3"}'


@pytest.mark.parametrize(
    "text",
    [
        'Thought: multiply\nAction: calculator\nAction Input: {"expression": "2*3"}\nPAUSE',
        'thought : multiply\nACTION: calculator\naction input :{"expression": "2*3"}\npause',
        f"**Thought:** multiply\n**Action:** `calculator`\n**Action Input:** `{EXPRESSION}`",
        'Thought 1: multiply\nAction 1: calculator\nAction Input 1: {"expression": "2*3"}\n',
        f"### Thought: multiply\n\n  Action:\n  calculator\n  Action_Input:\n  {EXPRESSION}",
        'multiply\nAction: calculator\nAction Input:\n```json\n{"expression": "2*3"}\n```\nPAUSE',
        'Thought: multiply\nAction: calculator({"expression": "2*3"})',
        'Thought: multiply\nAction: calculator {"expression": "2*3"} PAUSE',
        'Thought: multiply\nAction: calculator Action Input: {"expression": "2*3"} PAUSE',
        f"Question: 2*3?\nThought: multiply\nAction: [calculator]\nAction Input: {EXPRESSION}",
        '> Thought: multiply\n> Action: calculator\n> Action Input: {"expression": "2*3"}',
    ],
)
def test_an_action_is_read_however_it_is_written(text: str) -> None:
    assert read_reply(text) == Reading("multiply", CALL)


@pytest.mark.parametrize(
    ("text", "answer", "thought"),
    [
        ("Thought: known\nFinal Answer: 6", "6", "known"),
        ("**Final answer:** 6", "6", ""),
        ("final_answer: 6\n\nAll of it.", "6\n\nAll of it.", ""),
        ("Final Answer: **6** in all", "**6** in all", ""),
        ("Final Answer: 6\nQuestion: what is 3*3?\nThought: I", "6", ""),
        ("Final Answer: 6\nThought: wait\nAction: calculator\nAction Input: {}", "6", ""),
        ("Final Answer: no.\nAction: restart the server.", "no.\nAction: restart the server.", ""),
        ("Final Answer: 6\nAction: calculator\nAction Input: {}", "6", ""),
    ],
)  # fmt: skip
def test_an_answer_goes_as_far_as_it_can(text: str, answer: str, thought: str) -> None:
    assert read_reply(text) == Reading(answer, thought=thought)


def test_only_the_first_of_several_actions_counts_and_this_is_said() -> None:
    text = (
        'Action: calculator\nAction Input: {"expression": "2*3"}\n'
        'Action: calculator\nAction Input: {"expression": "4*5"}\n'
    )
    assert read_reply(text) == Reading("", CALL, remarks=(ONLY_FIRST,))


def test_an_invented_observation_is_cut_off_with_all_that_follows_from_it() -> None:
    text = (
        'Thought: multiply\nAction: calculator\nAction Input: {"expression": "2*3"}\nPAUSE\n'
        "Observation: 7\nThought: so it is 7\nFinal Answer: 7"
    )
    assert read_reply(text) == Reading("multiply", CALL, remarks=(INVENTED, TOO_EARLY))


def test_an_observation_in_the_place_of_an_action_leaves_what_was_said_before() -> None:
    assert read_reply("Thought: hm\nObservation: 7\nFinal Answer: 7") == Reading(
        "Thought: hm", complete=False
    )


@pytest.mark.parametrize(
    "text",
    [
        "The answer is 6.",
        "Thought: I should multiply.",
        "Action:\nAction Input: {}",
        'Action Input: {"expression": "2*3"}',
        "Final Answer:",
        "PAUSE",
        "",
    ],
)
def test_a_missing_part_is_seen(text: str) -> None:
    reading = read_reply(text)
    assert (reading.complete, reading.call, reading.text) == (False, None, text)


@pytest.mark.parametrize("written", ["{'expression': '2*3'}", "2*3", '{"expression": "2*3"', ""])
def test_arguments_that_are_no_json_stay_as_written(written: str) -> None:
    reading = read_reply(f"Action: calculator\nAction Input: {written}\nPAUSE")
    assert reading.call == TextCall("calculator", written)


def test_labels_inside_the_json_of_an_input_are_part_of_it() -> None:
    args = {"path": "a.md", "new_text": "x\nObservation: y\nAction: z\nPAUSE\nFinal Answer: 1"}
    written = json.dumps(args).replace("\\n", "\n")
    reading = read_reply(f"Action: edit\nAction Input: {written}\nPAUSE")
    assert reading == Reading("", TextCall("edit", written))


WORDS = [
    "Thought:", "Action:", "Action Input:", "Final Answer:", "Observation:", "Question:", "PAUSE",
    "**Action:**", "calculator", '{"a": 1}', "{'a': 1}", '{"a": "\n', "```json\n", "```", "\n", " ",
    "\n\n", "the result", "x" * 40, "Action: fix", "*", ":", "<think>", "</think>", "Final",
]  # fmt: skip
TEXTS = st.lists(st.sampled_from(WORDS) | st.text(max_size=3), max_size=14).map("".join)


@given(TEXTS)
def test_any_text_is_read_and_nothing_is_invented(text: str) -> None:
    reading = read_reply(text)
    assert reading.complete or reading.call is None
    for line in (*reading.text.split("\n"), *reading.thought.split("\n"), *(reading.call or ())):
        assert line in text


@given(st.text(max_size=80), st.dictionaries(st.text(max_size=8), st.text(max_size=30)))
def test_what_the_contract_asks_for_is_read_back(thought: str, args: dict[str, str]) -> None:
    thought = " ".join(thought.replace(":", "").split())
    text = f"Thought: {thought}\nAction: edit\nAction Input: {json.dumps(args)}\nPAUSE"
    reading = read_reply(text)
    assert reading.call is not None
    assert (json.loads(reading.call.args), reading.remarks) == (args, ())


@given(TEXTS, st.lists(st.integers(1, 9), min_size=1, max_size=5))
def test_the_pieces_of_a_stream_are_the_text_of_the_whole(text: str, sizes: list[int]) -> None:
    live, pieces, at = Live(), [], 0
    while at < len(text):
        size = sizes[len(pieces) % len(sizes)]
        pieces.append(live.feed(text[at : at + size]))
        at += size
    pieces.append(live.close())
    whole = Live()
    whole.raw = text
    assert "".join(pieces) == whole.close()


def test_an_answer_is_shown_while_it_is_written() -> None:
    live = Live()
    shown = [live.feed(part) for part in ("Thought: I know\nFinal", " Answer: it", " is", " six.")]
    assert shown == ["", "it", " is", " six."]


def test_a_long_answer_is_never_far_behind() -> None:
    live, shown = Live(), 0
    live.feed("Final Answer: ")
    for written in range(4, 60_000, 4):
        shown += len(live.feed("word"))
        assert written - shown <= written / 32


@pytest.mark.parametrize("piece", ["Action:\n", "Action Input: {\n", "**", "Final Answer:\n", "`"])
def test_a_looping_model_costs_no_square(piece: str) -> None:
    assert read_reply(piece * 20_000).call is None
