import dataclasses
import enum
import json
from collections import OrderedDict
from datetime import UTC, date, datetime
from pathlib import Path, PurePosixPath
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.messages import ToolMessage
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer
from pydantic import BaseModel

from headway_tools.values import MAX_DEPTH, bounded, clean_text, is_plain, plain


class Colour(enum.Enum):
    RED = "red"


class Point(BaseModel):
    x: int
    where: Path


@dataclasses.dataclass
class Pair:
    left: object
    right: object


class Hostile:
    def __repr__(self) -> str:
        raise RuntimeError("no")


class HostileDict(dict[str, int]):
    def items(self) -> Any:
        raise RuntimeError("no")


def named() -> None: ...


def assert_storable(value: object) -> None:
    """Strict JSON in UTF-8 without NUL, and the same after every saver's serializer."""
    text = json.dumps(value, allow_nan=False, ensure_ascii=False)
    assert "\\u0000" not in text
    text.encode("utf-8")
    assert json.loads(text) == value
    serde = JsonPlusSerializer()
    assert serde.loads_typed(serde.dumps_typed(value)) == value
    message = ToolMessage("", tool_call_id="c", artifact={"value": value})
    again = serde.loads_typed(serde.dumps_typed(message))
    assert again.artifact == {"value": value}


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (None, None),
        (True, True),
        (2**63, 2**63),
        (2**64, "18446744073709551616"),
        (-(2**70), "-1180591620717411303424"),
        (float("nan"), "NaN"),
        (float("-inf"), "-Infinity"),
        (complex(1, 2), "(1+2j)"),
        (b"caf\xe9", "caf\\xe9"),
        (PurePosixPath("/a/b"), "/a/b"),
        (date(2026, 1, 2), "2026-01-02"),
        (datetime(2026, 1, 2, tzinfo=UTC), "2026-01-02T00:00:00+00:00"),
        (ValueError("x\x00"), "ValueError: x\\x00"),
        (Colour.RED, "red"),
        (Pair(1, {2}), {"left": 1, "right": [2]}),
        (Point(x=1, where=Path("/p")), {"x": 1, "where": "/p"}),
        ((1, [2, (3,)]), [1, [2, [3]]]),
        ({"b", "a"}, ["a", "b"]),
        (OrderedDict({1: "a", None: "b"}), {"1": "a", "None": "b"}),
        ({1: "a", "1": "b"}, {"1": "a", "1'": "b"}),
        ({"\ud800": "\udcff"}, {"\\ud800": "\\udcff"}),
        ("\ud83d\ude00", "😀"),
        (range(3), "range(0, 3)"),
        (Hostile(), "<Hostile>"),
    ],
)
def test_each_kind_of_value_has_one_plain_form(value: object, expected: object) -> None:
    assert plain(value) == expected
    assert_storable(plain(value))


def test_functions_and_objects_are_described_without_addresses() -> None:
    assert plain(named) == "<function named>"
    assert "0x" not in plain({"object": object(), "call": lambda: 1})["object"]


def test_an_int_too_long_for_decimal_text_is_shortened() -> None:
    assert len(plain(1 << 100_000)) < 1_100
    assert_storable(plain({"n": 10**5_000}))


def test_cycles_and_depth_end() -> None:
    cycle: list[Any] = [1]
    cycle.append(cycle)
    assert plain(cycle) == [1, "…"]
    deep: object = "bottom"
    for _ in range(100_000):
        deep = [deep]
    result = plain(deep)
    for _ in range(MAX_DEPTH):
        (result,) = result
    assert result == "…"


def test_the_same_object_twice_is_no_cycle() -> None:
    shared = {"a": 1}
    assert plain([shared, shared]) == [{"a": 1}, {"a": 1}]


def test_a_container_that_breaks_is_described_alone() -> None:
    result = plain({"bad": HostileDict(a=1), "good": 2})
    assert result["good"] == 2
    assert_storable(result)


any_text = st.text(st.characters(codec=None), max_size=20)  # with surrogates and NUL
scalars = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(),
    any_text,
    st.binary(max_size=8),
    st.complex_numbers(),
    st.datetimes(),
    st.sampled_from([named, object(), HostileDict(), int, Colour.RED, PurePosixPath("a")]),
    any_text.map(ValueError),
)
keys = st.one_of(any_text, st.integers(), st.none(), st.tuples(st.floats()))
values = st.recursive(
    scalars,
    lambda inner: st.one_of(
        st.lists(inner, max_size=4),
        st.tuples(inner, inner),
        st.dictionaries(keys, inner, max_size=4),
        st.builds(Pair, inner, inner),
    ),
    max_leaves=20,
)


@given(values)
def test_any_value_becomes_what_every_saver_stores(value: object) -> None:
    result = plain(value)
    assert_storable(result)
    assert plain(result) == result
    assert is_plain(result)
    assert not is_plain(value) or result == value


@given(any_text, st.integers(0, 40))
def test_a_bounded_text_is_within_its_limit_and_whole_where_it_fits(text: str, limit: int) -> None:
    shown = bounded(text, limit)
    assert len(shown) <= limit
    assert shown == text or len(text) > limit


@given(any_text)
def test_clean_text_is_idempotent_and_leaves_good_text_alone(text: str) -> None:
    cleaned = clean_text(text)
    cleaned.encode("utf-8")
    assert "\x00" not in cleaned
    assert clean_text(cleaned) == cleaned
    if "\x00" not in text and not any(0xD800 <= ord(char) < 0xE000 for char in text):
        assert cleaned == text
