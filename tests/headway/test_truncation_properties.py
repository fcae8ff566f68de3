"""Whatever the output, it is within its limits and never cut twice."""

import json
import unicodedata
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from truncation_support import READABLE, assert_within, cut

from headway.truncation import TruncationLimits
from headway.truncation.boundaries import cut_back, cut_forward
from headway.truncation.clean import terminal_text
from headway_tools.results import observation


@given(st.text(st.sampled_from("ae\u0301\u200d👩👧🇩🇪🏽\r\n각ᆨ"), max_size=40), st.integers(0, 40))
def test_cuts_move_to_a_boundary_on_their_side(text: str, at: int) -> None:
    at = min(at, len(text))
    back, forward = cut_back(text, at), cut_forward(text, at)
    assert 0 <= back <= at <= forward <= len(text)
    for place in (back, forward):
        if 0 < place < len(text):
            assert unicodedata.category(text[place]) not in ("Mn", "Me", "Mc")
            assert text[place - 1 : place + 1] != "\r\n"


units = st.text(
    st.one_of(
        st.sampled_from("ab \n\n\r\t\x1b[0m\x08\x00é📁\u0301\u200d\ud83d\ude00"),
        st.characters(codec=None),
    ),
    max_size=12,
)
bounds = st.builds(TruncationLimits, characters=st.integers(500, 3_000), lines=st.integers(10, 60))


@st.composite
def outputs(draw: st.DrawFn) -> str:
    parts = draw(st.lists(st.tuples(units, st.integers(1, 3_000)), max_size=4))
    words = draw(st.sampled_from(["", "\nE   ValueError: no\n", "error: x", '{"a": ']))
    return words.join(unit * times for unit, times in parts)


def check_text(content: str, limits: TruncationLimits, name: str, tools: frozenset[str]) -> None:
    text = cut(content, limits, name=name, tools=tools)
    assert_within(text, limits)
    assert "\x00" not in text
    assert cut(text, limits, name=name, tools=tools) == text


names = st.sampled_from(["bash", "read_file", "other"])
tool_sets = st.sampled_from([READABLE, frozenset[str]()])


@settings(max_examples=100, deadline=None)
@given(outputs(), bounds, names, tool_sets)
def test_any_text_is_within_its_limits_and_never_cut_twice(
    content: str, limits: TruncationLimits, name: str, tools: frozenset[str]
) -> None:
    check_text(content, limits, name, tools)


@pytest.mark.slow
@settings(max_examples=1_500, deadline=None)
@given(outputs(), bounds, names, tool_sets)
def test_any_text_is_within_its_limits_and_never_cut_twice_at_length(
    content: str, limits: TruncationLimits, name: str, tools: frozenset[str]
) -> None:
    check_text(content, limits, name, tools)


json_values = st.recursive(
    st.one_of(
        st.none(),
        st.booleans(),
        st.integers(-(2**63), 2**63),
        st.floats(allow_nan=False, allow_infinity=False),
        st.builds(lambda unit, times: unit * times, units, st.integers(1, 300)),
    ),
    lambda inner: st.one_of(
        st.lists(inner, max_size=5),
        st.dictionaries(st.text(max_size=8), inner, max_size=5),
        st.builds(lambda item, times: [item] * times, inner, st.integers(1, 12)),
    ),
    max_leaves=12,
)


objects = st.dictionaries(st.text(max_size=12), json_values, max_size=6)


def check_object(value: dict[str, Any], limits: TruncationLimits, ascii_only: bool) -> None:
    content = json.dumps(value) if ascii_only else observation(value)
    text = cut(content, limits)
    assert len(text) <= limits.characters
    text.encode("utf-8")
    shown = json.loads(text, parse_constant=pytest.fail)
    assert isinstance(shown, dict)
    assert cut(text, limits) == text
    for key in value.keys() & shown.keys() - {"notice", "truncated"}:
        assert not isinstance(value[key], bool | int) or shown[key] == value[key]


@settings(max_examples=40, deadline=None)
@given(objects, bounds, st.booleans())
def test_any_json_object_stays_one_within_its_limits(
    value: dict[str, Any], limits: TruncationLimits, ascii_only: bool
) -> None:
    check_object(value, limits, ascii_only)


@pytest.mark.slow
@settings(max_examples=400, deadline=None)
@given(objects, bounds, st.booleans())
def test_any_json_object_stays_one_within_its_limits_at_length(
    value: dict[str, Any], limits: TruncationLimits, ascii_only: bool
) -> None:
    check_object(value, limits, ascii_only)


@given(st.text(st.sampled_from("ab\n\r\x1b[]m0;\x07\x08\\P\x9b"), max_size=40))
def test_cleaning_is_idempotent_and_keeps_the_lines(text: str) -> None:
    cleaned = terminal_text(text)
    assert terminal_text(cleaned) == cleaned
    assert cleaned.count("\n") == text.count("\n")
