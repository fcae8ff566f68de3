"""think: takes stock in writing; changes nothing and says nothing about progress."""

from typing import Final

from langchain_core.tools import BaseTool, StructuredTool
from pydantic import BaseModel, ConfigDict, Field

from headway_tools.kinds import declare
from headway_tools.results import observation

DESCRIPTION: Final = (
    "Take stock before a decision: what was found, what is missing, whether it is enough. "
    "Changes nothing and brings no new facts."
)


class ThinkArgs(BaseModel):
    """What the model sends to think."""

    model_config = ConfigDict(extra="forbid")

    found: str = Field(description="what is established so far")
    missing: str = Field(description="what is still missing; empty if nothing is")
    enough: bool = Field(description="whether what was found is enough to answer or finish")


def think_tool() -> BaseTool:
    """The think tool."""
    tool = StructuredTool.from_function(
        func=_run, coroutine=_arun, name="think", description=DESCRIPTION, args_schema=ThinkArgs
    )
    return declare(tool, "read", idempotent=True, neutral=True, own=True)


def _run(found: str, missing: str, enough: bool) -> str:
    step = "finish with what was found" if enough else "get what is missing"
    return observation({"ok": True, "next_step": step})


async def _arun(found: str, missing: str, enough: bool) -> str:
    return _run(found, missing, enough)
