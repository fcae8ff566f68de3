"""Honest shapes that look like loops: none is stopped, and most are not even told."""

import pytest
from progress_support import (
    bash,
    blind,
    calm,
    change,
    edit,
    levels,
    poll,
    read,
    search,
    think,
)

from headway.progress import CallFact, ProgressSettings, Round


def pytest_run(failed: int, passed: int, name: str = "a") -> CallFact:
    output = f"FAILED tests/test_{name}.py::test_{name}\n{failed} failed, {passed} passed in 0.1s"
    return bash("pytest -q", output, 1)


def falling(values: list[int]) -> list[Round]:
    """Edit, test, edit, test, with these failures left."""
    return [
        each
        for number, value in enumerate(values)
        for each in (change(edit("a.py", "x", f"y{number}")), calm(pytest_run(value, 20 - value)))
    ]


# What must go through without a word.
SILENT: dict[str, list[Round]] = {
    "polling, the result changes": [
        calm(poll(f"status: running, {percent} % done")) for percent in range(0, 100, 4)
    ],
    "polling a patient number of times": [calm(poll("status: running"))] * 10,
    "polling with sleeps between": [
        each
        for _ in range(8)
        for each in (calm(bash("sleep 30")), calm(search("job 7", "state: pending")))
    ],
    "the same edit on thirty files": [
        change(edit(f"src/mod_{n}.py", "# old licence", "# new licence")) for n in range(30)
    ],
    "the same edit on thirty files, nobody knows the workspace": [
        blind(CallFact("write", {"path": f"{n}.py", "content": "# licence"}, "OK", kind="write"))
        for n in range(30)
    ],
    "six different calls in one message": [calm(*[read(f"{n}", f"text {n}") for n in range(6)])],
    "re-reading after every edit": [
        each
        for n in range(12)
        for each in (change(edit("a.py", "x", f"y{n}")), calm(read("a.py", f"x = y{n}")))
    ],
    "re-reading a file that an edit elsewhere left alone": [
        each
        for n in range(3)
        for each in (change(edit("a.py", "x", f"y{n}")), calm(read("b.py", "untouched")))
    ],
    "failures fall with every edit": falling([9, 8, 7, 6, 5, 4, 3, 2, 1]),
    "one failure after another, as many left but more passed": [
        each
        for n in range(8)
        for each in (
            change(edit("b.py", "x", f"y{n}")),
            calm(
                pytest_run(
                    1, 10 + n, name=["parse", "emit", "io", "cli", "net", "db", "ui", "web"][n]
                )
            ),
        )
    ],
    "slow improvement with plateaus": falling([9, 9, 8, 8, 8, 7, 7, 7, 6, 5, 5, 5, 4]),
    "refactoring under green tests": [
        each
        for n in range(30)
        for each in (
            change(edit(f"src/{n}.py", "x", "y")),
            change(bash("pytest -q", f"50 passed in 0.{n}s")),
        )
    ],
    "paging": [calm(search(f"all, page {n}", f"row {n}0\nrow {n}1")) for n in range(30)],
    "overlapping pages": [
        calm(CallFact("read_file", {"path": "a", "line": n}, f"line {n}\nline {n + 1}"))
        for n in range(20)
    ],
    "opening reads": [calm(read(f"src/{n}.py", f"class C{n}: pass")) for n in range(25)],
    "opening reads of files that begin alike": [
        calm(read(f"src/{n}.py", f"from app.errors import NotFound\n\nclass C{n}: pass"))
        for n in range(25)
    ],
    "many empty searches in different places": [
        calm(CallFact("grep", {"pattern": "TODO", "path": f"dir_{n}"}, "no matches"))
        for n in "abcdefgh"
    ],
    "empty searches in different places by shell": [
        calm(bash(f"grep -rn TODO {place}", "", 1))
        for place in ("lib", "src", "app", "doc", "etc", "var", "bin", "opt")
    ],
    "retries through an outage": [
        *[calm(search("x", "HTTP 503 Service Unavailable"))] * 6,
        calm(search("x", "found")),
    ],
    "each run names the next missing thing": [
        each
        for n, name in enumerate(("trl", "peft", "rouge", "numpy", "torch", "yaml"))
        for each in (
            calm(bash("sh train.sh", "", 1, f"ModuleNotFoundError: No module named '{name}'")),
            change(bash(f"pip install {name}", f"Successfully installed {name}-1.{n}")),
        )
    ],
    "thinking between calls": [
        each for n in range(8) for each in (calm(think("hm")), calm(read(f"{n}", f"text {n}")))
    ],
    "a green test run, repeated to be sure": [
        change(edit("a.py", "x", "y")),
        calm(bash("pytest -q", "5 passed in 0.1s")),
        change(edit("a.py", "y", "z")),
        calm(bash("pytest -q", "5 passed in 0.2s")),
    ],
    "files that speak of errors": [
        calm(read(f"errors_{n}.md", f"Chapter {n}: what to do when things break")) for n in range(9)
    ],
}


@pytest.mark.parametrize("name", SILENT)
def test_honest_work_is_not_disturbed(name: str) -> None:
    assert set(levels(SILENT[name])) == {"go_on"}


def test_a_long_first_plateau_is_told_but_lives() -> None:
    found = levels(falling([9, 9, 9, 8, 7, 6]))
    assert "stop" not in found


def test_a_run_that_leaves_the_loop_after_the_nudge_goes_on() -> None:
    stuck = [calm(read("a.py", "x"))] * 3
    away = [calm(read(f"{n}.py", f"text {n}")) for n in range(9)]
    assert levels([*stuck, *away]) == ["go_on", "go_on", "tell", *["go_on"] * 9]


def test_after_a_nudge_forgotten_long_ago_the_model_is_told_again_before_a_stop() -> None:
    away = [calm(read(f"{n}.py", f"text {n}")) for n in range(9)]
    found = levels([*[calm(read("a.py", "x"))] * 3, *away, *[calm(read("b.py", "y"))] * 9])
    assert found.count("tell") == 2
    assert found[-1] == "stop"


def test_an_empty_memory_starts_afresh() -> None:
    assert levels([calm(read("a.py", "x"))] * 2) == ["go_on"] * 2


def test_off_never_says_a_word() -> None:
    rounds = [calm(read("a.py", "x"))] * 50
    assert set(levels(rounds, ProgressSettings.preset("off"))) == {"go_on"}


def test_think_alone_neither_adds_nor_takes() -> None:
    stuck = calm(read("a.py", "x"))
    with_thoughts = [each for _ in range(4) for each in (stuck, calm(think("once more")))]
    assert [level for level in levels(with_thoughts) if level != "go_on"] == ["tell", "stop"]
