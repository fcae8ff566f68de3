"""What is taken for one plain command is exactly that, for a real bash."""

import subprocess
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headway.commands import has_option, plain_words, program, simple_commands

PIECES = (
    "say", "a", " ", "\t", "\n", "\r", "'", '"', "\\", ";", "&", "|", ">", "<", "$", "`", "(", ")",
    "{", "}", ",", "*", "?", "[", "]", "~", "#", "!", "=", "^", "-", "--", "/", ".", "%", "@", "+",
    ":", "\u00a0", "\u2028", "é", "\x00", "\x1b", "$IFS", "$(a)", "{a,b}", "x=1", "if", "2>b",
)  # fmt: skip
CANARY = "made-by-a-shell"


@pytest.fixture(scope="module")
def arena(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder whose only program `say` prints its arguments, each ended by NUL."""
    folder = tmp_path_factory.mktemp("arena")
    say = folder / "bin" / "say"
    say.parent.mkdir()
    say.write_text('#!/bin/sh\nfor word in say "$@"; do printf \'%s\\0\' "$word"; done\n')
    say.chmod(0o755)
    (folder / "work").mkdir()
    (folder / "work" / "a").touch()
    return folder


def as_bash_has_it(arena: Path, command: str) -> list[str]:
    done = subprocess.run(
        ["/bin/bash", "-c", command],
        cwd=arena / "work",
        env={"PATH": str(arena / "bin"), "HOME": CANARY, "LC_ALL": "C.UTF-8"},
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        check=False,
    )
    return done.stdout.decode().split("\0")[:-1]


@settings(max_examples=150, deadline=None)
@given(st.lists(st.sampled_from(PIECES), max_size=8).map("".join))
def test_plain_words_are_what_bash_passes_on(arena: Path, rest: str) -> None:
    words = plain_words(f"say {rest}")
    if words is not None:
        assert as_bash_has_it(arena, f"say {rest}") == words
        assert [path.name for path in (arena / "work").iterdir()] == ["a"]


@settings(max_examples=150, deadline=None)
@given(st.lists(st.text("ab;&|<>$`\\*?{}~#!() \n", max_size=4), max_size=3))
def test_quoted_words_arrive_as_they_are(arena: Path, words: list[str]) -> None:
    command = " ".join(["say", *(f"'{word}'" for word in words)])
    if "\n" in command:
        assert plain_words(command) is None
    else:
        assert plain_words(command) == ["say", *words] == as_bash_has_it(arena, command)


@pytest.mark.parametrize(
    "command",
    [
        "",
        " ",
        "'' x",
        "x=1",
        "x+=1 y",
        "a 'b",
        'a "b',
        "a\0b",
        "a\rb",
        "a $'b'",
        "a b #c",
        "a *",
        "a ~",
    ],
)
def test_anything_a_shell_would_act_upon_is_not_plain(command: str) -> None:
    assert plain_words(command) is None


@pytest.mark.parametrize(
    ("args", "option", "found"),
    [
        (["--output=x"], "--output", True),
        (["--outp", "x"], "--output", True),
        (["--output-indicator-new=x"], "--output", False),
        (["--"], "--output", False),
        (["-uofile"], "-o", True),
        (["-u", "-o"], "-o", True),
        (["--only"], "-o", False),
        (["o"], "-o", False),
        (["-exec"], "-exec", True),
        (["-executable"], "-exec", False),
        (["foreach"], "foreach", True),
    ],
)
def test_options_are_found_abbreviated_bundled_and_attached(
    args: list[str], option: str, found: bool
) -> None:
    assert has_option(args, (option,)) is found


def test_programs_are_known_without_folder_and_version() -> None:
    assert [program(w) for w in ("/usr/bin/python3.12", "git", "./7z", "3")] == [
        "python", "git", "7z", "3",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("command", "words"),
    [
        ("a; b c", ["b", "c"]),
        ("a &&\nb c", ["b", "c"]),
        ("a \\\n b", ["a", "b"]),
        ('x "$(y; (b c))"', ["b", "c"]),
        ("x `b c`", ["b", "c"]),
        ("diff <(b c) d", ["b", "c"]),
        ("{b,c}", ["b", "c"]),
        ("b${IFS}c", ["b", "c"]),
        ("b$IFS'c'", ["b", "c"]),
        ("cat <<E\nit's\nE\nb c", ["b", "c"]),
    ],
)
def test_every_part_of_a_compound_command_is_found(command: str, words: list[str]) -> None:
    assert words in list(simple_commands(command))


@given(st.text(max_size=60))
def test_any_text_can_be_read(text: str) -> None:
    assert all(isinstance(word, str) for words in simple_commands(text) for word in words)
