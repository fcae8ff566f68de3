"""A function of the caller judges the answer in the place of a command."""

import os
from pathlib import Path

import pytest

from headway import run_agent
from headway_tools.errors import HeadwayError
from policies import replies


def test_a_function_judges_the_answer_and_the_workspace(project: Path) -> None:
    def verify(answer: str, workspace: Path | None) -> bool | str:
        assert workspace
        return "add" in (workspace / "calc.py").read_text() and answer == "five" or "say five"

    result = run_agent("x", model=replies("5", "five"), workspace=project, verify=verify)
    assert (result.status, result.verified) == ("completed", True)
    never = run_agent("x", model=replies("5"), workspace=project, verify=lambda answer, _: False)
    assert (never.status, never.verified) == ("check_failed", False)
    assert never.missing == "an accepted answer"


def test_a_fault_in_the_callers_function_reaches_the_caller() -> None:
    def verify(answer: str, workspace: Path | None) -> bool:
        return os.environ["HEADWAY_MISSING"] == ""

    with pytest.raises(KeyError, match="HEADWAY_MISSING"):
        run_agent("x", model=replies("5"), verify=verify)


def test_an_async_function_is_refused_with_the_reason() -> None:
    async def verify(answer: str, workspace: Path | None) -> bool:
        return True

    with pytest.raises(HeadwayError, match="not an async one"):
        run_agent("x", model=replies("5"), verify=verify)
