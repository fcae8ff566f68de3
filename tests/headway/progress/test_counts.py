"""Summaries of test runners, compilers and linters, and texts that are none."""

import pytest

from headway.progress import CallFact, ProgressSettings, Round, best_count, detect
from headway.progress.counts import tally

OUTPUTS: dict[str, tuple[str, int]] = {
    "pytest": ("FAILED t.py::test_a - assert 0\n=== 2 failed, 5 passed, 1 warning in 0.31s ===", 2),
    "pytest -q": ("..F\n1 failed, 2 passed in 0.05s", 1),
    "pytest, all green": ("7 passed in 0.02s", 0),
    "pytest, collection error": ("ERROR t.py - ImportError\n1 error in 0.10s", 1),
    "pytest, errors and failures": ("3 failed, 1 passed, 2 errors in 1.2s", 5),
    "pytest, minutes": ("== 4 failed, 900 passed, 3 skipped in 75.20s (0:01:15) ==", 4),
    "unittest": ("Ran 12 tests in 0.004s\n\nFAILED (failures=2, errors=1)", 3),
    "unittest, one kind": ("Ran 3 tests in 0.001s\n\nFAILED (errors=3)", 3),
    "unittest, green": ("Ran 12 tests in 0.004s\n\nOK", 0),
    "jest": ("Test Suites: 1 failed, 1 total\nTests:       2 failed, 8 passed, 10 total", 2),
    "jest, green": ("Tests:       8 passed, 8 total", 0),
    "vitest": (" Test Files  1 failed (1)\n      Tests  3 failed | 4 passed (7)", 3),
    "mocha": ("  3 passing (9ms)\n  2 failing\n", 2),
    "go test": ("--- FAIL: TestA (0.00s)\n    a_test.go:5: no\n--- FAIL: TestB (0.00s)\nFAIL\n", 2),
    "go test, green": ("--- PASS: TestA (0.00s)\nPASS\nok  \texample/a\t0.01s", 0),
    "cargo test": ("test result: FAILED. 3 passed; 2 failed; 0 ignored; 0 measured", 2),
    "cargo, two binaries": (
        "test result: ok. 3 passed; 0 failed; 0 ignored\n"
        "test result: FAILED. 1 passed; 4 failed; 0 ignored",
        4,
    ),
    "cargo build": ("error: could not compile `x` (lib) due to 3 previous errors", 3),
    "maven": ("Tests run: 9, Failures: 2, Errors: 1, Skipped: 0", 3),
    "rspec": ("12 examples, 4 failures", 4),
    "phpunit": ("Tests: 10, Assertions: 20, Failures: 3.", 3),
    "tsc": (
        "a.ts(1,2): error TS1: no\nb.ts(3,4): error TS2: no\nFound 2 errors in 2 files.",
        2,
    ),
    "tsc, no summary": ("a.ts(1,2): error TS2304: no\nb.ts(3,4): error TS2322: no\n", 2),
    "ruff": ("t.py:1:1: F401 unused\nFound 4 errors.\n[*] 1 fixable", 4),
    "ruff, clean": ("All checks passed!", 0),
    "mypy": ("a.py:1: error: no\nFound 3 errors in 1 file (checked 9 source files)", 3),
    "mypy, clean": ("Success: no issues found in 3 source files", 0),
    "pyright": ("  a.py:1:1 - error: no\n2 errors, 1 warning, 0 informations", 2),
    "eslint": ("  1:1  error  no  rule\n\n✖ 3 problems (2 errors, 1 warning)", 2),
    "gcc": ("a.c:1:2: error: no f\na.c:3:4: error: no g\na.c:9:1: fatal error: no h.h", 3),
    "clang": ("a.c:1:2: error: no f\n2 errors generated.", 2),
    "generic": ("FAILED test_f\n3 errors", 3),
}

NO_COUNT = (
    "",
    "hello",
    "no errors here",
    "the 3 errors of my youth",
    "def test_failed(): return 5",
    "HTTP 503 Service Unavailable",
    "total 24\n-rw-r--r-- 1 root root 12 a.py",
    "errors were made in 1999 by 5 people",
)


@pytest.mark.parametrize("tool", OUTPUTS)
def test_the_count_is_read_from_the_summary(tool: str) -> None:
    text, left = OUTPUTS[tool]
    assert best_count(text) == left
    assert best_count(f"collecting\n{text}\nbye\n") == left


@pytest.mark.parametrize("text", NO_COUNT)
def test_other_text_has_no_count(text: str) -> None:
    assert best_count(text) is None


def test_the_last_run_counts() -> None:
    assert best_count("5 failed, 1 passed in 1s\n2 failed, 4 passed in 1s") == 2


def test_a_counter_of_ones_own() -> None:
    pattern = r"open points: (?P<count>\d+)"
    assert best_count("open points: 7", (pattern,)) == 7
    assert tally("open points: many", (r"open points: (?P<count>\w+)",)) is None


def test_a_counter_of_ones_own_is_followed_by_the_detector() -> None:
    settings = ProgressSettings(counters=(r"open points: (?P<count>\d+)",))
    memory: dict[str, object] = {}
    found = []
    for number in range(4):
        call = CallFact("bash", {"command": f"./patch {number} && ./audit"}, "open points: 7")
        memory, verdict = detect(memory, Round((call,), changed=True), settings)
        found.append((verdict.level, verdict.rule))
    assert found[-2:] == [("tell", "counter"), ("stop", "counter")]


def test_endless_digits_are_no_crash() -> None:
    assert best_count("9" * 6000 + " errors") is None
