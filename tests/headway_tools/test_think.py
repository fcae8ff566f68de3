"""think and ask_user: schemas, short answers, and no execution where nobody answers."""

import json

import pytest
from pydantic import ValidationError

from headway_tools.ask_user import AskUserArgs, ask_user_tool
from headway_tools.errors import ToolFailure
from headway_tools.kinds import declaration_of
from headway_tools.think import ThinkArgs, think_tool


@pytest.mark.parametrize(
    ("enough", "step"), [(True, "finish with what was found"), (False, "get what is missing")]
)
async def test_think_answers_shortly(enough: bool, step: str) -> None:
    call = {"found": "the test fails", "missing": "the cause", "enough": enough}
    for text in (think_tool().invoke(call), await think_tool().ainvoke(call)):
        assert json.loads(text) == {"ok": True, "next_step": step}


def test_think_says_nothing_about_progress() -> None:
    declaration = declaration_of(think_tool())
    assert (declaration.kind, declaration.neutral) == ("read", True)


async def test_ask_user_never_runs_by_itself() -> None:
    tool = ask_user_tool()
    with pytest.raises(ToolFailure, match="not_run"):
        tool.invoke({"question": "Which?"})
    with pytest.raises(ToolFailure, match="not_run"):
        await tool.ainvoke({"question": "Which?", "options": ["a", "b"]})


def test_arguments_are_strict() -> None:
    with pytest.raises(ValidationError):
        AskUserArgs.model_validate({"question": ""})
    with pytest.raises(ValidationError):
        AskUserArgs.model_validate({"question": "Which?", "default": "a"})
    with pytest.raises(ValidationError):
        ThinkArgs.model_validate({"found": "a", "missing": "b", "enough": True, "more": 1})
