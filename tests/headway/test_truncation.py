import json
import re
import tracemalloc
import unicodedata
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headway.build import build_agent
from headway.truncation import Truncation, TruncationLimits, limits_for, shorten
from headway.truncation.boundaries import cut_back, cut_forward
from headway.truncation.clean import terminal_text
from headway_tools.blocks import READ_OUTPUT
from headway_tools.errors import HeadwayError
from headway_tools.results import observation
from policies import replies

DEFAULT = TruncationLimits()
SMALL = TruncationLimits(characters=1_500, lines=40)
READABLE = frozenset({READ_OUTPUT, "bash"})


def cut(
    content: Any, limits: Truncation = SMALL, *, name: str = "bash", tools: Any = READABLE
) -> Any:
    return shorten(content, limits=limits, output="o-3f9a1c2b", name=name, tools=tools)


def assert_within(text: str, limits: TruncationLimits) -> None:
    assert len(text) <= limits.characters
    assert text.count("\n") < limits.lines
    text.encode("utf-8")


def log(count: int, **special: str) -> str:
    lines = [f"test_{i} passed" for i in range(1, count + 1)]
    for number, line in special.items():
        lines[int(number[1:]) - 1] = line
    return "\n".join(lines)


def test_a_short_result_is_shown_as_it_is() -> None:
    assert cut("three\nlines\n\n") == "three\nlines\n\n"


def test_the_failure_at_the_end_of_a_long_log_is_shown() -> None:
    text = cut("ok\n" * 70_000 + "FAILED tests/test_x.py::test_y - AssertionError\nrc 1", DEFAULT)
    assert text.endswith("FAILED tests/test_x.py::test_y - AssertionError\nrc 1")
    assert "70000 times" in text


def test_the_one_failure_in_the_middle_is_shown_with_its_line_number() -> None:
    text = cut(log(6_000, _3000="E   KeyError: 'user_id'"))
    assert "\n3000: E   KeyError: 'user_id'\n" in text
    assert_within(text, SMALL)


@pytest.mark.parametrize(
    "line",
    [
        "error[E0425]: cannot find value `x` in this scope",
        "--- FAIL: TestParse (0.00s)",
        "./main.go:5:2: undefined: parse",
        "E       fixture 'client' not found",
        "E         - 3",
        "npm ERR! code ELIFECYCLE",
        "make: *** No rule to make target 'x', needed by 'all'.  Stop.",
        "Caused by: com.example.NoSuchThing: 7",
        "main.c:1:10: fatal error: x.h: No such file or directory",
        "/usr/bin/ld: main.o: undefined reference to `parse'",
        "Program received signal SIGSEGV",
        "[12]    4242 segmentation fault (core dumped)  ./run",
        "sh: 1: cargo: command not found",
        "Tests run: 5, Failures: 1, Errors: 0, Skipped: 0",
        '<testcase name="parses"><failure message="3 != 4"/></testcase>',
        "not ok 3 - parses",
        "  ✕ parses (5 ms)",
        "CONFLICT (content): Merge conflict in a.py",
        "E: Unable to locate package foo",
        "main.c:3:5: Fehler: »x« nicht deklariert",
        "main.c:3:5: erreur: « x » non déclaré",
        "main.c:3:5: ошибка: «x» не описан",
        "main.c:3:5: 错误：‘x’未声明",
    ],
)
def test_failures_in_the_form_of_any_tool_are_kept_from_the_middle(line: str) -> None:
    text = cut(log(6_000, _3000=line))
    assert f"\n3000: {line.rstrip()}\n" in text
    assert_within(text, SMALL)


@pytest.mark.parametrize("line", ["0 errors", "no failures", "Failures: 0, Errors: 0"])
def test_failures_that_did_not_happen_are_none(line: str) -> None:
    assert line not in cut(log(6_000, _3000=line))


def test_line_numbers_stay_those_of_the_whole_behind_colours_and_progress() -> None:
    noise = "\x1b[32mok\x1b[0m\r\n" + "\r".join(f"{i}%" for i in range(100)) + "\n"
    text = cut(noise * 500 + "panicked at src/main.rs\n" + noise * 500)
    assert "1001: panicked at src/main.rs" in text


def test_plain_failures_come_before_mentions_and_good_news_is_none() -> None:
    lines = ["0 errors, 0 failed", "errors: 0", "see errors.log"] * 400
    lines[600] = "Traceback (most recent call last):"
    lines[601] = "ValueError: x"
    text = cut("\n".join(lines))
    assert "601: Traceback" in text
    assert "602: ValueError: x" in text
    assert not re.search(r"\d+: (0 errors|errors: 0)", text)


def test_of_many_failures_the_first_and_the_last_are_shown_and_counted() -> None:
    text = cut("\n".join(f"line {i}\nERROR number {i}" for i in range(5_000)), DEFAULT)
    assert re.search(r"by line number \(\d+ of \d{3,}\)", text)
    assert_within(text, DEFAULT)


def test_the_notice_counts_what_is_left_out_and_says_how_to_read_on() -> None:
    text = cut("\n".join(f"{i:05}" for i in range(1, 10_001)))
    notice = re.search(
        r"\[… (\d+) lines \((\d+)–(\d+) of 10000\), (\d+) characters left out; "
        r'read on: read_output\(id="o-3f9a1c2b", start=(\d+)\) …\]',
        text,
    )
    assert notice
    count, first, last, characters, start = map(int, notice.groups())
    assert count == last - first + 1
    assert first == start
    assert characters == 6 * count
    assert f"\n{first - 1:05}\n[…" in text
    assert f"…]\n{last + 1:05}\n" in text


@pytest.mark.parametrize("tools", [frozenset(), frozenset({"bash", "read_file"})])
def test_the_notice_names_only_tools_that_are_bound(tools: frozenset[str]) -> None:
    text = cut(log(5_000), tools=tools)
    assert "read_output" not in text
    assert "bash" not in text
    assert "read_file" not in text


def test_what_is_in_no_journal_is_not_offered() -> None:
    assert READ_OUTPUT not in shorten(
        log(5_000), limits=SMALL, output="", name="bash", tools=READABLE
    )


def test_a_giant_line_shows_both_ends_and_where_to_read_on() -> None:
    whole = "".join(f"{i:06}," for i in range(40_000))
    text = cut(whole)
    found = re.search(r"offset=(\d+)\)", text)
    assert found
    assert text.startswith(whole[: int(found[1])] + "\n[…")
    head, notice, tail = text.split("\n")
    assert whole.endswith(tail)
    assert len(tail) > len(head) > 300
    assert f"{len(whole) - len(head) - len(tail)} characters of line 1" in notice
    assert_within(text, SMALL)


def test_progress_ends_with_its_last_state() -> None:
    text = cut("".join(f"\r{i}%" for i in range(1, 2_001)))
    assert text.endswith("2000%")
    assert len(text) < 200


def test_a_run_of_equal_lines_is_one_line_with_its_count() -> None:
    text = cut("begin\n" + "waiting\n" * 5_000 + "end")
    assert text == "begin\nwaiting [… this line 5000 times in a row …]\nend"


def test_equal_lines_of_a_result_that_fits_stay() -> None:
    assert cut("same\n" * 20) == "same\n" * 20


@pytest.mark.parametrize(
    ("raw", "shown"),
    [
        ("\x1b[1;31mred\x1b[0m", "red"),
        ("\x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\", "link"),
        ("\x1b]0;title\x07text", "text"),
        ("a\r\nb\r\n", "a\nb\n"),
        ("bold: b\x08bo\x08o", "bold: bo"),
        ("bell\x07 nul\x00 del\x7f c1\x9b", "bell\\x07 nul\\x00 del\\x7f c1\\x9b"),
        ("tab\tstays", "tab\tstays"),
        ("caf\udce9", "caf\\udce9"),
        ("unfinished \x1b[", "unfinished "),
        ("\r", ""),
    ],
)
def test_control_bytes_are_removed_or_visible(raw: str, shown: str) -> None:
    assert cut(raw) == shown


@pytest.mark.parametrize("name", ["bash", "read_file"])
def test_json_with_unsendable_names_can_be_sent(name: str) -> None:
    text = cut('{"caf\udce9": "caf\udce9"}', name=name)
    text.encode("utf-8")
    assert cut(text, name=name) == text
    assert len(json.loads(text)) == 1


def test_what_a_file_tool_returns_keeps_its_bytes() -> None:
    content = observation({"ok": True, "content": "a\rb\rc \x1b[0m"})
    assert cut(content, name="read_file") == content
    assert json.loads(cut(content, name="bash"))["content"].endswith("c ")


@pytest.mark.parametrize("unit", ["📁", "e\u0301", "👨‍👩‍👧‍👦", "🇩🇪", "👍🏽", "\u1100\u1161\u11a8"])
@pytest.mark.parametrize("characters", range(1_496, 1_505))
def test_no_cut_goes_through_a_character(unit: str, characters: int) -> None:
    limits = TruncationLimits(characters=characters)
    text = cut(unit * 10_000, limits, name="read_file")
    assert_within(text, limits)
    shown = [line for line in text.split("\n") if line.strip() and not line.startswith("[…")]
    joined = "".join(shown)
    assert "\ufffd" not in text
    assert joined.replace(unit.strip("\r\n"), "").replace("\r", "") == ""


@given(st.text(st.sampled_from("ae\u0301\u200d👩👧🇩🇪🏽\r\n각ᆨ"), max_size=40), st.integers(0, 40))
def test_cuts_move_to_a_boundary_on_their_side(text: str, at: int) -> None:
    at = min(at, len(text))
    back, forward = cut_back(text, at), cut_forward(text, at)
    assert 0 <= back <= at <= forward <= len(text)
    for place in (back, forward):
        if 0 < place < len(text):
            assert unicodedata.category(text[place]) not in ("Mn", "Me", "Mc")
            assert text[place - 1 : place + 1] != "\r\n"


def test_a_stack_of_marks_without_end_is_cut_all_the_same() -> None:
    assert_within(cut("e" + "\u0301" * 100_000), SMALL)


def test_a_json_result_stays_parseable_and_is_cut_inside_its_fields() -> None:
    whole = {"ok": False, "exit_code": 2, "output": log(6_000, _3000="E   KeyError"), "cwd": "/w"}
    text = cut(observation(whole))
    shown = json.loads(text)
    assert len(text) <= SMALL.characters
    assert (shown["ok"], shown["exit_code"], shown["cwd"]) == (False, 2, "/w")
    assert shown["truncated"] is True
    assert "o-3f9a1c2b" in shown["notice"]
    assert "\n3000: E   KeyError\n" in shown["output"]
    assert 'read_output(id=\\"o-3f9a1c2b\\", field=\\"output\\", start=' in text
    assert shown["output"].startswith("test_1 passed\n")
    assert shown["output"].endswith("\ntest_6000 passed")


@pytest.mark.parametrize("unit", ["x", "\x07", "漢", "\ud800"])
def test_the_smallest_limits_leave_each_field_a_beginning(unit: str) -> None:
    whole = {"ok": True, "exit_code": 0, "stdout": unit * 9_000, "stderr": "E" * 9_000}
    text = cut(observation(whole), TruncationLimits(characters=500, lines=10))
    shown = json.loads(text)
    assert len(text) <= 500
    assert shown.keys() == {*whole, "truncated", "notice"}
    assert shown["stdout"].startswith(terminal_text(unit))
    assert shown["stderr"].startswith("EEEEEEEE")


def test_long_lists_lose_entries_and_keep_their_form() -> None:
    whole = {"ok": True, "matches": [{"path": f"src/{i}.py", "line": i} for i in range(5_000)]}
    shown = json.loads(cut(observation(whole), DEFAULT))
    kept = len(shown["matches"])
    assert 100 < kept < 5_000
    assert shown["matches"] == whole["matches"][:kept]  # type: ignore[index]
    assert f"{kept} of 5000 entries of matches" in shown["notice"]


def test_an_array_becomes_items_of_an_object() -> None:
    shown = json.loads(cut(json.dumps(list(range(100_000)))))
    assert shown["items"][:3] == [0, 1, 2]
    assert shown["truncated"] is True


def test_json_that_fits_without_its_white_space_is_whole() -> None:
    value = {"rows": [{"id": i} for i in range(60)]}
    shown = cut(json.dumps(value, indent=8))
    assert json.loads(shown) == value


def test_a_notice_of_the_tool_itself_stays() -> None:
    shown = json.loads(cut(observation({"notice": "mind the gap", "text": "x" * 9_000})))
    assert shown["notice"].startswith("mind the gap ")
    shown = json.loads(cut(observation({"notice": "mind " * 9_000, "ok": False})))
    assert shown["notice"].startswith("mind mind ")
    assert shown["ok"] is False


def test_json_too_large_to_parse_becomes_its_two_ends() -> None:
    text = cut('{"rows": [' + "1, " * 11_000_000 + '"end"]}')
    shown = json.loads(text)
    assert shown["truncated"] is True
    assert shown["head"].startswith('{"rows": [1, ')
    assert shown["tail"].endswith('"end"]}')
    assert len(text) <= SMALL.characters


@pytest.mark.parametrize("end", ["}", '"}'])
def test_an_object_of_giant_names_or_no_sense_becomes_its_two_ends(end: str) -> None:
    names = json.dumps({f"{i}" * 3_000: i for i in range(9)})
    assert json.loads(cut(names))["truncated"] is True
    assert len(cut(names)) <= SMALL.characters
    assert len(cut("{" + "\x01\ud800" * 20_000_000 + end)) <= SMALL.characters


def test_json_deeper_than_the_stack_is_shortened_all_the_same() -> None:
    for depth in (100, 400, 900, 5_000):
        text = cut("[" * depth + '"' + "x" * 9_000 + '"' + "]" * depth)
        assert len(text) <= SMALL.characters
        assert READ_OUTPUT in text


@pytest.mark.parametrize(
    "unit", ["Assertion ", "\x1b[", "\x1b]", "\x1bP", "Error", "error: ", "a\x08", "0 ", "A" * 50]
)
def test_no_pattern_is_slower_than_linear(unit: str) -> None:
    assert_within(cut(unit * (2_000_000 // len(unit))), SMALL)


def test_text_that_only_looks_like_json_is_text() -> None:
    assert_within(cut("{not json\n" * 10_000), SMALL)
    assert_within(cut("[" * 100_000), SMALL)


def test_content_blocks_are_measured_together_and_images_stay() -> None:
    image = {"type": "image", "base64": "A" * 50_000}
    blocks = [{"type": "text", "text": log(3_000)}, image, {"type": "text", "text": "the end"}]
    shown = cut(blocks)
    assert shown[1:] == [image]
    assert_within(shown[0]["text"], SMALL)
    assert shown[0]["text"].endswith("the end")
    assert cut(shown) == shown
    assert cut(blocks[1:]) == blocks[1:]


def test_media_beyond_all_measure_are_left_out_and_counted() -> None:
    image = {"type": "image", "base64": "A" * 1_500_000}
    shown = cut([{"type": "text", "text": "see"}, image, image])
    assert shown[1:] == [image]
    assert "1 images or files left out" in shown[0]["text"]
    assert cut(shown) == shown


def test_off_means_off() -> None:
    whole = log(100_000)
    assert cut(whole, None) == whole
    assert cut(whole, {"bash": None}) == whole
    assert cut(whole, lambda name: None) == whole
    assert cut("\x00\ud800", None) == "\\x00\\ud800"


def test_limits_may_differ_by_tool() -> None:
    assert limits_for("bash", {"other": SMALL}) == DEFAULT
    assert limits_for("bash", {"bash": SMALL}) == SMALL
    assert limits_for("bash", lambda name: SMALL if name == "bash" else None) == SMALL
    assert len(cut(log(9_000), {"bash": SMALL})) <= 1_500


@pytest.mark.parametrize(
    "wrong", ["12000", {"look": 7}, lambda name: 7], ids=["text", "number", "function"]
)
def test_a_wrong_setting_is_refused_when_the_agent_is_built(wrong: Any) -> None:
    def look() -> str:
        """Look."""
        return ""

    with pytest.raises(HeadwayError, match="truncation of look: give TruncationLimits or None"):
        build_agent(replies("done"), tools=[look], truncation=wrong)


@pytest.mark.parametrize("bad", [{"characters": 0}, {"lines": 0}, {"characters": -1}])
def test_limits_that_nothing_fits_are_refused(bad: dict[str, int]) -> None:
    with pytest.raises(HeadwayError, match="pass None to switch shortening off"):
        TruncationLimits(**bad)


def test_a_page_of_read_output_is_never_shortened() -> None:
    page = observation({"ok": True, "content": "x\n" * 2_000})
    assert cut(page, name=READ_OUTPUT) == page
    assert len(cut("x" * 1_000_000, name=READ_OUTPUT)) <= SMALL.characters


def test_a_hundred_megabytes_cost_no_second_copy_and_say_what_was_not_searched() -> None:
    line = "x" * 79 + "\n"
    whole = (
        line * 600_000 + "ERROR in the middle\n" + line * 650_000 + "ERROR near the end\n" + line
    )
    tracemalloc.start()
    text = cut(whole, DEFAULT)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 70_000_000
    assert "ERROR near the end" in text
    assert "ERROR in the middle" not in text
    assert "not searched for failures" in text
    assert "of 1250003)" in text
    assert_within(text, DEFAULT)


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
