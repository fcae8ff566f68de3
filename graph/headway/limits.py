"""The one object that bounds a run, its presets, and what is left of it."""

from collections.abc import Callable, Mapping
from typing import Any, Final, Literal, get_args

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from headway.prices import cost_of
from headway_tools.errors import HeadwayError

Depth = Literal["simple", "ordinary", "hard"]

DEPTHS: Final[dict[Depth, int]] = {"simple": 2, "ordinary": 3, "hard": 5}
"""Tool calls that a request of this depth may take; more of them are a task for several runs."""

CALL_TOKENS: Final = (3_000, 300)
"""Input and output tokens of an average model call of such a request."""


_OFF: Final = ("none", "off")
_WHOLE: Final = ("model_calls", "tool_calls", "tokens")
_ALWAYS: Final = ("model_calls", "model_timeout", "tool_timeout")

MOST: Final = 10**12
"""The largest count that a limit may be; a checkpoint holds no number beyond 64 bits."""


class Limits(BaseModel):
    """Bounds of one run, counted from the last human message; resume and approval continue.

    A limit of None is off; `model_calls` has no off.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    model_calls: int = Field(default=60, ge=1, le=MOST, description="replies of the model")
    tool_calls: int | None = Field(default=200, ge=0, le=MOST, description="tool executions")
    seconds: float | None = Field(default=3600, gt=0, description="wall time")
    tokens: int | None = Field(default=None, ge=1, le=MOST, description="input and output tokens")
    cost: float | None = Field(default=None, gt=0, description="US dollars, where prices are known")
    model_timeout: float = Field(default=300, gt=0, description="seconds for one model call")
    tool_timeout: float = Field(default=120, gt=0, description="seconds for one tool call")

    @classmethod
    def for_depth(
        cls, depth: Depth, *, cost_ceiling: float | None = None, model: str | None = None
    ) -> "Limits":
        """The bounds of a request of this depth: its tool calls, a reply for each and one for the
        answer, time and tokens in proportion, and `cost_ceiling` in US dollars.

        Raises:
            HeadwayError: it is deeper than hard, or the calls would cost more than the ceiling at
                the price of `model` (`provider:name`; without a known price nothing is foretold):
                split the task.
        """
        if depth not in get_args(Depth):
            raise HeadwayError(
                f"no limits for depth {depth!r}: choose {', '.join(DEPTHS)}; what is more than "
                "hard: split the task"
            )
        tools = DEPTHS[depth]
        calls = tools + 1
        if cost_ceiling is not None:
            _refuse_dear(depth, calls, cost_ceiling, model)
        return cls(
            model_calls=calls,
            tool_calls=tools,
            seconds=60.0 * calls,
            tokens=10 * calls * sum(CALL_TOKENS),
            cost=cost_ceiling,
        )

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


def changed_limits(base: Limits, changes: Mapping[str, Any], place: Callable[[str], str]) -> Limits:
    """`base` with the named limits changed; `none` and `off` mean no limit. `place` says where a
    person wrote the limit of a name, for the `HeadwayError` about it."""
    changed = {name: None if value in _OFF else value for name, value in changes.items()}
    try:
        return Limits(**{**base.model_dump(), **changed})
    except ValidationError as error:
        name = str(error.errors()[0]["loc"][0])
        raise HeadwayError(f"{place(name)}{_wrong(name, changes.get(name))}") from error


def _wrong(name: str, value: object) -> str:
    known = ", ".join(Limits.model_fields)
    if name not in Limits.model_fields:
        return f" has no {name!r}; it has {known}"
    kind = "a whole number" if name in _WHOLE else "a number"
    least = "from 0 up" if name == "tool_calls" else "above 0"
    off = " (it cannot be off)" if name in _ALWAYS else ", or none"
    return f": {name} takes {kind} {least}{off}, not {str(value)!r}; the limits are {known}"


def _refuse_dear(depth: Depth, calls: int, ceiling: float, model: str | None) -> None:
    if ceiling <= 0:
        raise HeadwayError("cost_ceiling must be above 0: split the task, or raise the ceiling")
    each = cost_of(model or "", *CALL_TOKENS)
    if each is not None and each * calls > ceiling:
        raise HeadwayError(
            f"the {calls} model calls of a task of depth {depth!r} cost about "
            f"${each * calls:.2g} with {model}, more than the ceiling of ${ceiling:.2g}: split "
            "the task, or raise the ceiling"
        )


WORK: Final = Limits()
"""The default of `headway run`: 60 model calls, 200 tool calls, one hour."""

DEMO: Final = Limits(model_calls=8, tool_calls=16, seconds=300)
