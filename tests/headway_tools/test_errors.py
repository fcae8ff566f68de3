"""Every failure that a model reads has a code of the list and a next step."""

import ast
from collections.abc import Iterator
from pathlib import Path
from typing import get_args

import pytest

import headway
import headway_tools
from headway_tools.errors import FailureCode, ToolFailure

CODES = get_args(FailureCode)
SOURCES = [
    path
    for room in (headway, headway_tools)
    for top in room.__path__
    for path in Path(top).rglob("*.py")
]


def raised() -> Iterator[tuple[str, ast.Call]]:
    """Every place in the sources that makes a `ToolFailure`."""
    for path in SOURCES:
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "ToolFailure":
                yield f"{path.name}:{node.lineno}", node


PLACES = dict(raised())


@pytest.mark.parametrize("place", PLACES)
def test_a_failure_says_what_to_do_next(place: str) -> None:
    code, message, next_step = PLACES[place].args[:3]
    assert not isinstance(code, ast.Constant) or code.value in CODES
    assert ast.unparse(message).strip("f\"'")
    assert ast.unparse(next_step).strip("f\"'")


def test_every_code_is_one_that_something_gives() -> None:
    text = "".join(path.read_text() for path in SOURCES if path.name != "errors.py")
    assert [code for code in CODES if f'"{code}"' not in text] == []


def test_a_failure_is_an_object_with_code_message_and_next_step() -> None:
    failure = ToolFailure("no_match", "it is not there", "read it again", lines=[1])
    assert failure.as_result() == {
        "ok": False,
        "error": "no_match",
        "message": "it is not there",
        "next_step": "read it again",
        "lines": [1],
    }
