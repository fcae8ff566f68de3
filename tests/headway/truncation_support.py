"""Short spellings of a shortened result and of what bounds it."""

from typing import Any

from headway.truncation import Truncation, TruncationLimits, shorten
from headway_tools.blocks import READ_OUTPUT

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
