"""The typed trace: one `StepTrace` per tool call or reply, derived from messages, never stored."""

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict

ObservationStatus = Literal["success", "error"]


class ToolCallTrace(BaseModel):
    """What the model asked for."""

    model_config = ConfigDict(frozen=True)

    id: str
    name: str
    args: dict[str, Any]


class StepTrace(BaseModel):
    """Thought, tool call, observation. Calls of one reply share `turn`; the thought is on the
    first. A reply without a call, and a `think` call, have `tool_call=None`."""

    model_config = ConfigDict(frozen=True)

    turn: int
    """1 for the first reply after the newest human message."""
    thought: str = ""
    tool_call: ToolCallTrace | None = None
    observation: str | None = None
    """Exactly what the model saw; None while a call is open, and for a reply without a call."""
    status: ObservationStatus | None = None
    message_id: str = ""
    """The AIMessage this step comes from."""
