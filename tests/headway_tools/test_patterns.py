"""The one meaning of protect and hide patterns."""

import fnmatch
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headway_tools.patterns import covers, escape, expand

NAMES = st.text("ab*?[]!-.^\\", min_size=1, max_size=6).filter(lambda n: n not in (".", ".."))
PATHS = st.lists(NAMES, min_size=1, max_size=4).map("/".join)


@pytest.mark.parametrize(
    ("pattern", "path"),
    [
        ("tests", "tests"),
        ("tests", "tests/unit/test_a.py"),
        ("tests/", "tests/a"),
        ("./tests", "tests/a"),
        ("/tests", "tests/a"),
        ("*.lock", "uv.lock"),
        ("src/*.py", "src/a.py"),
        ("src/*", "src/deep/er"),
        ("src/**/gen.py", "src/gen.py"),
        ("src/**/gen.py", "src/a/b/gen.py"),
        ("**/x", "x"),
        ("**/x", "a/b/x/below"),
        ("src/**", "src/a/b"),
        ("a?c", "abc"),
        ("[ab]x", "bx"),
        ("[!ab]x", "cx"),
        ("[]]x", "]x"),
        ("[", "["),
        ("a.b", "a.b"),
        ("tests", "./tests//a"),
    ],
)
def test_covered(pattern: str, path: str) -> None:
    assert covers([pattern], path)


@pytest.mark.parametrize(
    ("pattern", "path"),
    [
        ("tests", "src/tests"),
        ("tests", "tests2"),
        ("*.lock", "deep/uv.lock"),
        ("src/*.py", "src/deep/a.py"),
        ("src/**", "src"),
        ("a?c", "a/c"),
        ("[!a]x", "/x"),
        ("[!ab]x", "ax"),
        ("a.b", "axb"),
        ("A", "a"),
        ("../tests", "tests"),
        ("", "a"),
        (".", "a"),
    ],
)
def test_not_covered(pattern: str, path: str) -> None:
    assert not covers([pattern], path)


@pytest.mark.parametrize("path", [".env", "a/.env", "a/.env/below", "a/b/.env.local"])
def test_a_name_anywhere_is_covered_at_any_depth(path: str) -> None:
    assert covers([".env*"], path, anywhere=True)


def test_a_pattern_with_a_slash_stays_at_the_top_even_anywhere() -> None:
    assert covers(["keys/*.pem"], "keys/a.pem", anywhere=True)
    assert not covers(["keys/*.pem"], "a/keys/a.pem", anywhere=True)


def test_later_patterns_win() -> None:
    patterns = [".env*", "!.env.example", ".env.example.local"]
    assert covers(patterns, "a/.env", anywhere=True)
    assert not covers(patterns, "a/.env.example", anywhere=True)
    assert covers(patterns, "a/.env.example.local", anywhere=True)


@given(PATHS)
def test_an_escaped_path_matches_itself_and_what_is_below(path: str) -> None:
    assert covers([escape(path)], path)
    assert covers([escape(path)], path + "/below")
    assert not covers([escape(path)], path + "x")


@given(st.text("ab*?[]!-.^\\", max_size=8), NAMES)
def test_within_one_name_it_is_the_shells_matching(pattern: str, name: str) -> None:
    if "**" in pattern or pattern.startswith("!") or pattern in (".", ".."):
        return
    assert covers([pattern], name) == fnmatch.fnmatchcase(name, pattern)


@given(st.lists(st.text("ab*/!.", max_size=8), max_size=4), PATHS)
def test_any_patterns_are_taken(patterns: list[str], path: str) -> None:
    assert covers(patterns, path) in (True, False)


def test_expand_names_the_topmost_covered_paths(tmp_path: Path) -> None:
    for path in ("tests/a", "tests/deep/b", "src/x.lock", "y.lock", "src/.env", ".git/.env"):
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text("")
    (tmp_path / "link").symlink_to("src")
    assert set(expand(tmp_path, ["tests", "missing"])) == {"tests"}
    assert set(expand(tmp_path, ["t*", "**/*.lock"])) == {"tests", "src/x.lock", "y.lock"}
    assert set(expand(tmp_path, [".env"], anywhere=True)) == {"src/.env"}
    assert set(expand(tmp_path, ["*", "!src"])) == {"tests", "y.lock", "link", ".git"}
    assert set(expand(tmp_path, ["link", "../" + tmp_path.name])) == {"link"}
