"""The pure core of edit against a plain oracle, and what is said where nothing matches."""

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from headway_tools.edits import Edit, describe, plan_edit, preview
from headway_tools.errors import ToolFailure

TEXTS = st.lists(
    st.sampled_from(["a", "b", "aa", " ", "\n", "\r\n", "\r\n", "\r"]), max_size=14
).map("".join)
FRAGMENTS = st.lists(st.sampled_from(["a", "b", " ", "\n"]), min_size=1, max_size=5).map("".join)
ANY_ENDS = st.lists(st.sampled_from(["a", "b", "\n", "\r\n", "\r"]), min_size=1, max_size=4).map(
    "".join
)


def plain(text: str) -> str:
    return text.replace("\r\n", "\n")


def meant(text: str, old: str) -> list[tuple[int, int]]:
    """Every part of `text` that `old` may mean; none that holds half of a line end."""
    edges = [at for at in range(len(text) + 1) if text[max(0, at - 1) : at + 1] != "\r\n"]
    parts = [(start, end) for start in edges for end in edges if start < end]
    exactly = [(start, end) for start, end in parts if text[start:end] == old]
    if exactly and "\r\n" in old:
        return exactly
    return [(start, end) for start, end in parts if plain(text[start:end]) in (old, plain(old))]


@given(TEXTS, ANY_ENDS, ANY_ENDS | st.just(""))
@example("xxxx\nx\r\r\n", "x\r\n", "y")
@example("x\r\nx\r\r\n", "x\r\n", "y")
@example("x\r\r\n", "x\r\n", "y\r\n")
@example("\r\na\r\n", "\na\r\n", "b\r\n")
def test_an_edit_happens_exactly_where_the_fragment_is_unique(
    text: str, old: str, new: str
) -> None:
    assume(old != new)
    places = meant(text, old)
    unique = len(places) == 1
    try:
        edit = plan_edit(text, old, new)
    except ToolFailure as failure:
        refused = failure
    else:
        assert [(edit.start, edit.end)] == places
        assert edit.replacement.replace("\r", "") == new.replace("\r", "")
        return
    assert refused.code == ("no_change" if unique else "ambiguous" if places else "no_match")
    lines = [text.count("\n", 0, start) + 1 for start, _ in places]
    assert refused.details.get("lines", []) == ([] if unique else lines)


@st.composite
def edits(draw: st.DrawFn) -> tuple[str, Edit]:
    """A text with one Z in it, and the edit of a fragment around that Z."""
    middle = draw(FRAGMENTS) + "Z" + draw(FRAGMENTS)
    ends = st.sampled_from(["\n", "\r\n"])
    stored = "".join(draw(ends) if character == "\n" else character for character in middle)
    text = draw(TEXTS) + stored + draw(TEXTS)
    return text, plan_edit(text, middle, draw(FRAGMENTS | st.just("")))


@given(edits())
def test_lines_that_stay_within_the_fragment_keep_their_ends(case: tuple[str, Edit]) -> None:
    text, edit = case
    before, after = lines(text[edit.start : edit.end]), lines(edit.replacement)
    for old, new in zip(before, after, strict=False):
        if plain(old) != plain(new):
            break
        assert old == new


@given(edits())
def test_the_change_is_counted_in_whole_lines(case: tuple[str, Edit]) -> None:
    text, edit = case
    before, after = lines(text), lines(edit.apply(text))
    change = describe(text, edit)
    assert len(after) - len(before) == change.lines_added - change.lines_removed
    assert before[: change.line - 1] == after[: change.line - 1]
    behind = before[change.line - 1 + change.lines_removed :]
    assert after[change.line - 1 + change.lines_added :] == behind


def test_the_preview_shows_the_new_lines_between_their_neighbours() -> None:
    text = "".join(f"line {n}\n" for n in range(1, 10))
    edit = plan_edit(text, "line 5\n", "five\nand a half\n")
    assert preview(edit.apply(text), describe(text, edit)).split("\n") == [
        "3\tline 3",
        "4\tline 4",
        "5\tfive",
        "6\tand a half",
        "7\tline 6",
        "8\tline 7",
    ]


@pytest.mark.parametrize(
    ("text", "old", "new", "shown"),
    [
        ("a\nb\n", "b", "c", "1\ta\n2\tc"),
        ("a\nb\n", "b\n", "", "1\ta"),
        ("a\n", "a", "a\n", "1\ta\n2\t"),
        ("a", "a", "", "1\t"),
    ],
)
def test_the_preview_ends_where_the_file_does(text: str, old: str, new: str, shown: str) -> None:
    edit = plan_edit(text, old, new)
    assert preview(edit.apply(text), describe(text, edit)) == shown


def test_a_long_preview_is_cut_with_a_count() -> None:
    edit = plan_edit("a\n", "a", "\n".join("x" * 30))
    shown = preview(edit.apply("a\n"), describe("a\n", edit)).split("\n")
    assert len(shown) == 13
    assert shown[-1] == "… 18 more lines"


@given(st.text("ab\n \u00a0", max_size=60), st.text("abc\n \t", min_size=1, max_size=30))
def test_whatever_is_missing_there_is_an_answer(text: str, old: str) -> None:
    assume(old not in text)
    failure = refusal(text, old)
    assert failure.code == "no_match"
    assert failure.next_step
    for nearest in failure.details.get("nearest", []):  # type: ignore[attr-defined]
        assert 1 <= nearest["line"] <= text.count("\n") + 1


@pytest.mark.parametrize(
    ("text", "old", "words"),
    [
        ("x = 1\ny  = 2\n", "x = 1\ny = 2", "line 2, column 2 has a space that old_text lacks"),
        ("a = “x”\n", 'a = "x"', "line 1, column 5 has U+201C LEFT DOUBLE QUOTATION MARK where"),
        ("value\u200b = 1\n", "value = 1", "has U+200B ZERO WIDTH SPACE that old_text lacks"),
        ("def total(items):\n", "def totl(items):", "line 1, column 8 has 'a' that old_text lacks"),
        ("return x\n", "retrurn x", "line 1, column 4 lacks 'r' that old_text has"),
        (
            "if a:\n\t\tb\n",
            "if a:\n    b",
            "line 2, column 1 has 2 tabs where old_text has 4 spaces",
        ),
        ("end", "end\nmore", "the file ends with line 1, old_text goes on"),
        ("a\nend\n", "end\n\n", "the file ends with line 2, old_text goes on"),
        ("a\nend", "end\n", "the file's last line 2 has no line end, old_text has one"),
        ("one\n\ntwo\n", "one\ntwo", "line 2, column 1 lacks 'two' that old_text has"),
        ("Ünï\n", "U\u0308nï", "has U+00DC LATIN CAPITAL LETTER U WITH DIAERESIS where"),
        (
            "x" * 5000 + "needle;" + "y" * 5000,
            "x" * 400 + "noodle;",
            "line 1, column 5002 has 'eedle;yyyyyyyyyyyyyy' where old_text has 'oodle;'",
        ),
    ],
)
def test_the_exact_difference_is_said(text: str, old: str, words: str) -> None:
    assert words in refusal(text, old).message


def test_the_nearest_lines_are_shown_best_first() -> None:
    text = "".join(f"def area_{n}(shape): return {n}\n" for n in range(100))
    failure = refusal(text, "def area_42(shapes): return 42")
    nearest = failure.details["nearest"]
    assert isinstance(nearest, list)
    assert nearest[0] == {"line": 43, "text": "43\tdef area_42(shape): return 42"}
    assert len(nearest) <= 3


def refusal(text: str, old: str) -> ToolFailure:
    with pytest.raises(ToolFailure) as caught:
        plan_edit(text, old, old + "!")
    return caught.value


def lines(text: str) -> list[str]:
    parts = text.split("\n")
    return [part + "\n" for part in parts[:-1]] + ([parts[-1]] if parts[-1] else [])
