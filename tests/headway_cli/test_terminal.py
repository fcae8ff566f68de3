import io
import sys
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headway_cli.terminal import Terminal, clip, one_line, paint, path_text, terminal_of, visible


class FakeTty(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(
    ("hostile", "shown"),
    [
        ("\x1b[2Jgone", r"\x1b[2Jgone"),
        ("\x1b]0;title\x07", r"\x1b]0;title\x07"),
        ("safe\rfake", r"safe\rfake"),
        ("a\u202eb", r"a\u202eb"),
        ("\x9b31m", r"\x9b31m"),
        ("name\udcff", r"name\udcff"),
        ("one\r\ntwo\tthree", "one\ntwo three"),
        ("grüße 東京", "grüße 東京"),
    ],
)
def test_hostile_text_is_shown_and_not_obeyed(hostile: str, shown: str) -> None:
    assert visible(hostile) == shown


@given(st.text())
def test_nothing_but_newlines_controls_a_terminal(text: str) -> None:
    shown = visible(text)
    assert not any(unicodedata.category(c) in ("Cc", "Cs") for c in shown if c != "\n")
    assert "\n" not in one_line(text)


@given(st.text(alphabet="ab東é ", max_size=60), st.integers(20, 40))
def test_a_clipped_line_fits_its_columns(text: str, width: int) -> None:
    shown = clip(text, width)
    assert sum(2 if c == "東" else 1 for c in shown) <= width
    assert shown == text or shown.endswith("…")


def test_colour_only_where_a_terminal_takes_it() -> None:
    assert paint("x", "red", Terminal(colour=False)) == "x"
    assert paint("x", "red", Terminal(colour=True)) == "\x1b[31mx\x1b[0m"


@pytest.mark.parametrize(
    ("stream", "environ", "colour"),
    [
        (FakeTty(), {}, True),
        (FakeTty(), {"NO_COLOR": "1"}, False),
        (FakeTty(), {"TERM": "dumb"}, False),
        (io.StringIO(), {}, False),
        (io.StringIO(), {"FORCE_COLOR": "1"}, True),
        (FakeTty(), {"NO_COLOR": "1", "FORCE_COLOR": "1"}, False),
    ],
)
def test_the_environment_decides_about_colour(
    stream: io.StringIO, environ: dict[str, str], colour: bool
) -> None:
    assert terminal_of(stream, environ).colour is colour


@pytest.mark.parametrize(
    ("stream", "environ", "width"),
    [
        (FakeTty(), {}, 80),
        (FakeTty(), {"COLUMNS": "40"}, 40),
        (FakeTty(), {"COLUMNS": "3"}, 20),
        (FakeTty(), {"COLUMNS": "wide"}, 80),
        (io.StringIO(), {}, sys.maxsize),
        (io.StringIO(), {"COLUMNS": "40"}, 40),
    ],
)
def test_a_line_is_cut_at_a_terminals_width_and_in_no_pipe(
    stream: io.StringIO, environ: dict[str, str], width: int
) -> None:
    assert terminal_of(stream, environ).width == width


@given(st.text())
def test_a_path_is_one_line_and_two_paths_are_not_alike(text: str) -> None:
    shown = path_text(text)
    assert shown.splitlines() in ([shown], [])
    assert path_text("a b") != path_text("a\nb")
