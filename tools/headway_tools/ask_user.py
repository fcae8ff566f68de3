"""ask_user: the model's question to the user. The graph answers it; nothing runs here."""

from typing import Final

from langchain_core.tools import BaseTool, StructuredTool
from pydantic import BaseModel, ConfigDict, Field

from headway_tools.errors import ToolFailure
from headway_tools.kinds import declare

NAME: Final = "ask_user"

DESCRIPTION: Final = (
    "Ask the user one question and get the answer. Only for what tools cannot find out and a "
    "wrong guess would cost dearly."
)


class AskUserArgs(BaseModel):
    """What the model sends to ask_user."""

    model_config = ConfigDict(extra="forbid")

    question: str = Field(min_length=1, description="one question that can be answered by itself")
    options: list[str] = Field(
        default_factory=list, max_length=10, description="answers to choose from, if there are some"
    )


def ask_user_tool() -> BaseTool:
    """The schema to bind; bind it only where somebody can answer."""
    tool = StructuredTool.from_function(
        func=_run, coroutine=_arun, name=NAME, description=DESCRIPTION, args_schema=AskUserArgs
    )
    return declare(tool, "read", neutral=True, own=True)


def _run(question: str, options: list[str] | None = None) -> str:
    raise ToolFailure("not_run", "nobody can answer here", "decide without the user")


async def _arun(question: str, options: list[str] | None = None) -> str:
    return _run(question, options)
