"""Counts in the output of test runners, compilers and linters: how much is left to mend."""

import re
from dataclasses import dataclass
from functools import lru_cache


@dataclass(frozen=True)
class Tally:
    """What a tool says is left (`failed`: failures, errors) and what already holds (`passed`)."""

    failed: int
    passed: int | None = None
    tool: str = ""


_N = r"(?<!\d)(\d{1,9})"
_PYTEST_PART = re.compile(
    rf"{_N} (failed|passed|errors?|skipped|xfailed|xpassed|warnings?|deselected)\b"
)
_PYTEST_LINE = re.compile(
    r"^[= ]*(?:no tests ran|\d+ (?:failed|passed|errors?|skipped|xfailed|xpassed|deselected)\b)"
    r"(?:[, ]+\d+ \w+)*(?: in [\d.<>a-z:() ]+)?[= ]*$",
    re.M,
)
_UNITTEST = re.compile(r"^FAILED \(([^)]*)\)", re.M)
_UNITTEST_RAN = re.compile(rf"^Ran {_N} tests?\b", re.M)
_UNITTEST_PART = re.compile(rf"(failures|errors|unexpected successes)={_N}")
_JEST = re.compile(
    rf"^[ \t]*Tests:?\s+(?:(?:{_N} failed)\s*[,|]\s*)?(?:\d+ (?:skipped|todo)\s*[,|]\s*)*"
    rf"(?:{_N} passed)?",
    re.M,
)
_MOCHA_FAILING = re.compile(rf"^[ \t]*{_N} failing\b", re.M)
_MOCHA_PASSING = re.compile(rf"^[ \t]*{_N} passing\b", re.M)
_CARGO = re.compile(rf"^test result: \w+\. {_N} passed; {_N} failed", re.M)
_CARGO_BUILD = re.compile(rf"^error: could not compile .* due to {_N} previous errors?", re.M)
_GO_FAIL = re.compile(r"^[ \t]*--- FAIL: ", re.M)
_GO_PASS = re.compile(r"^[ \t]*--- PASS: ", re.M)
_GO_END = re.compile(r"^(?:ok  ?\t?|FAIL\t|FAIL$|PASS$)", re.M)
_JUNIT = re.compile(rf"Tests run: {_N}, Failures: {_N}, Errors: {_N}")
_SUMMARIES: tuple[tuple[str, re.Pattern[str]], ...] = (
    ("ruff", re.compile(rf"^Found {_N} errors?\b", re.M)),
    ("eslint", re.compile(rf"^[^\w\n]{{0,4}}{_N} problems? \({_N} errors?", re.M)),
    ("pyright", re.compile(rf"^{_N} errors?, \d+ warnings?", re.M)),
    ("rspec", re.compile(rf"^\d+ examples?, {_N} failures?", re.M)),
    (
        "phpunit",
        re.compile(rf"^Tests: \d+, Assertions: \d+(?:, Errors: \d+)?, Failures: {_N}", re.M),
    ),
    ("dotnet", re.compile(rf"^[ \t]*{_N} Error\(s\)", re.M)),
    ("gcc", re.compile(rf"^{_N} errors? generated\b", re.M)),
    (
        "generic",
        re.compile(
            rf"^[^\w\n]{{0,4}}(?:found |total )?{_N} (?:errors?|failures?|problems?|issues?)\b",
            re.M | re.I,
        ),
    ),
    (
        "generic",
        re.compile(
            rf"^[^\w\n]{{0,4}}(?:errors|failures|failed|problems)\s*[:=]\s*{_N}\s*$", re.M | re.I
        ),
    ),
)
_CLEAN = re.compile(
    r"^(?:Success: no issues found|All checks passed!|No issues found|no errors found)", re.M | re.I
)
_HINTS = ("fail", "error", "pass", "problem", "issue", "ran ", "summary", "examples", "tests")
_MOST = 400
"""Lines with a hint that are looked at; the last ones where there are more."""
_ERROR_LINE = re.compile(
    r"^(?:error(?:\[\w+\])?: |[\w./\\-]+(?:\(\d+,\d+\)|:\d+(?::\d+)?): (?:fatal )?error\b)", re.M
)


def tally(text: str, extra: tuple[str, ...] = ()) -> Tally | None:
    """The last summary that a known tool printed in `text`, or None.

    `extra`: regular expressions with a group `count`, tried first.
    """
    for pattern in extra:
        found = [match["count"] for match in _compile(pattern).finditer(text)]
        if found and found[-1].isdecimal():
            return Tally(int(found[-1][:9]), tool="custom")
    text = "\n".join([line for line in text.splitlines() if _hinted(line)][-_MOST:])
    if not text:
        return None
    for reader in (_pytest, _unittest, _jest, _cargo, _go, _mocha, _junit, _summary):
        result = reader(text)
        if result is not None:
            return result
    return _clean(text) or _error_lines(text)


def best_count(text: str, extra: tuple[str, ...] = ()) -> int | None:
    """How many failures or errors the output says are left; None where it says nothing."""
    found = tally(text, extra)
    return None if found is None else found.failed


def _hinted(line: str) -> bool:
    low = line[:400].lower()
    return any(hint in low for hint in _HINTS)


@lru_cache(maxsize=64)
def _compile(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern, re.M)


def _clean(text: str) -> Tally | None:
    return Tally(0, tool="clean") if _CLEAN.search(text) else None


def _pytest(text: str) -> Tally | None:
    lines = [match.group() for match in _PYTEST_LINE.finditer(text)]
    for line in reversed(lines):
        parts = {word.rstrip("s"): int(number) for number, word in _PYTEST_PART.findall(line)}
        if parts.keys() & {"failed", "passed"} or ("error" in parts and " in " in line):
            return Tally(
                parts.get("failed", 0) + parts.get("error", 0), parts.get("passed", 0), "pytest"
            )
    return None


def _unittest(text: str) -> Tally | None:
    ran = _UNITTEST_RAN.findall(text)
    if not ran:
        return None
    failed = sum(
        int(number)
        for summary in _UNITTEST.findall(text)[-1:]
        for _, number in _UNITTEST_PART.findall(summary)
    )
    return Tally(failed, max(int(ran[-1]) - failed, 0), "unittest")


def _jest(text: str) -> Tally | None:
    found = [match for match in _JEST.finditer(text) if match[1] or match[2]]
    if not found:
        return None
    return Tally(int(found[-1][1] or 0), int(found[-1][2] or 0), "jest")


def _cargo(text: str) -> Tally | None:
    results = _CARGO.findall(text)
    if results:
        return Tally(sum(int(f) for _, f in results), sum(int(p) for p, _ in results), "cargo")
    build = _CARGO_BUILD.findall(text)
    return Tally(int(build[-1]), None, "cargo") if build else None


def _go(text: str) -> Tally | None:
    if not _GO_END.search(text):
        return None
    failed, passed = len(_GO_FAIL.findall(text)), len(_GO_PASS.findall(text))
    return Tally(failed, passed or None, "go") if failed or passed else None


def _mocha(text: str) -> Tally | None:
    passing = _MOCHA_PASSING.findall(text)
    failing = _MOCHA_FAILING.findall(text)
    if not passing and not failing:
        return None
    return Tally(int(failing[-1]) if failing else 0, int(passing[-1]) if passing else 0, "mocha")


def _junit(text: str) -> Tally | None:
    found = _JUNIT.findall(text)
    if not found:
        return None
    ran, failures, errors = (int(number) for number in found[-1])
    return Tally(failures + errors, max(ran - failures - errors, 0), "junit")


def _summary(text: str) -> Tally | None:
    for tool, pattern in _SUMMARIES:
        found = list(pattern.finditer(text))
        if found:
            return Tally(int(found[-1].groups()[-1]), None, tool)
    return None


def _error_lines(text: str) -> Tally | None:
    lines = len(_ERROR_LINE.findall(text))
    return Tally(lines, None, "compiler") if lines > 1 else None
