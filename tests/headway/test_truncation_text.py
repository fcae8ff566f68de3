"""Text that is shortened: what is kept of it, what the notice says, where it may be cut."""

import json
import re
import tracemalloc

import pytest
from truncation_support import DEFAULT, READABLE, SMALL, assert_within, cut, log

from headway.truncation import TruncationLimits, shorten
from headway_tools.blocks import READ_OUTPUT
from headway_tools.results import observation


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


def test_a_stack_of_marks_without_end_is_cut_all_the_same() -> None:
    assert_within(cut("e" + "\u0301" * 100_000), SMALL)


@pytest.mark.parametrize(
    "unit", ["Assertion ", "\x1b[", "\x1b]", "\x1bP", "Error", "error: ", "a\x08", "0 ", "A" * 50]
)
def test_no_pattern_is_slower_than_linear(unit: str) -> None:
    assert_within(cut(unit * (2_000_000 // len(unit))), SMALL)


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
