"""The one object that bounds a run, its presets, and what is left of it."""

from typing import Final

from pydantic import BaseModel, ConfigDict, Field


class Limits(BaseModel):
    """Bounds of one run, counted from the last human message; resume and approval continue.

    A limit of None is off; `model_calls` has no off.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    model_calls: int = Field(default=60, ge=1, description="replies of the model")
    tool_calls: int | None = Field(default=200, ge=0, description="tool executions")
    seconds: float | None = Field(default=3600, gt=0, description="wall time")
    tokens: int | None = Field(default=None, ge=1, description="input and output tokens")
    cost: float | None = Field(default=None, gt=0, description="US dollars, where prices are known")
    model_timeout: float = Field(default=300, gt=0, description="seconds for one model call")
    tool_timeout: float = Field(default=120, gt=0, description="seconds for one tool call")

    def capped_by(self, ceiling: "Limits") -> "Limits":
        """Each value at most the ceiling's."""
        mine, top = self.model_dump(), ceiling.model_dump()
        low = {
            name: value
            if top[name] is None
            else min(top[name], value if value is not None else top[name])
            for name, value in mine.items()
        }
        return Limits(**low)


WORK: Final = Limits()
"""The default of `headway run`: 60 model calls, 200 tool calls, one hour."""

DEMO: Final = Limits(model_calls=8, tool_calls=16, seconds=300)

LOOKUP: Final = Limits(model_calls=6, tool_calls=5, seconds=300)
"""For questions: 1–2 calls for a simple one, 2–3 for an ordinary one, 5 for a hard one."""
