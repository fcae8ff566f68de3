"""Thresholds of the detector. A round adds points by what it shows, news takes points away."""

import re
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator

Preset = Literal["default", "strict", "off"]


class Flat(BaseModel):
    """How many evaluations without a new minimum of the counter: to tell, and to stop."""

    model_config = ConfigDict(frozen=True)

    tell: int = Field(ge=1)
    stop: int = Field(ge=1)


class ProgressSettings(BaseModel):
    """All knobs. The score starts at 0; every round adds the points of one of its calls, the
    least suspicious: a round with one new, useful result never scores.
    """

    model_config = ConfigDict(frozen=True)

    enabled: bool = True
    tell: float = Field(default=2.25, gt=0)
    """Score at which the model is told."""
    stop: float = Field(default=3.0, gt=0)
    """Score at which the run ends, once the model was told and the evidence went on."""

    repeat: float = 1.0
    """The same call brought the same result, and nothing changed in between."""
    repeat_growth: float = 0.25
    """Added for every earlier repeat of that same pair: distractors in between do not hide it."""
    repeat_after_change: float = 0.05
    """The same call brought the same unfailing result after a new change: green tests, say."""
    same_error: float = 0.6
    """Another call failed with an error class seen before."""
    same_call_same_error: float = 0.8
    """The same call failed again with an error class seen before, in other words."""
    same_result: float = 0.4
    """Another call brought a result seen before."""
    same_telling_result: float = 0.6
    """A reworded call brought a result of some length that was seen before."""
    empty_elsewhere: float = 0.15
    """Nothing found, at a place not searched before."""
    poll: float = 0.2
    """A waiting call, or a result that says "still running", came back unchanged."""
    sleep: float = 0.05
    """A call that only sleeps."""
    transient: float = 0.3
    """An outage (429, 5xx, refused connection) came back."""
    storm: float = 1.0
    """Nothing could run: unknown tools or malformed calls, again."""
    monologue: float = 1.0
    """A reply without any call, again."""
    duplicates: float = 0.4
    """Each further equal call inside one message."""
    news: float = 0.5
    """Taken off the score by a round that brought something new."""

    flat_declared: Flat = Flat(tell=1, stop=2)
    """For a counter that the caller or the tool declares: evaluations without a new minimum."""
    flat_same: Flat = Flat(tell=2, stop=3)
    """For an inferred counter when every evaluation fails in the same way."""
    flat_other: Flat = Flat(tell=3, stop=5)
    """For an inferred counter when the failures differ."""
    flat_unknown: Flat = Flat(tell=8, stop=10)
    """For an inferred counter when nobody knows whether anything changed in between."""
    flat_backed: Flat = Flat(tell=5, stop=6)
    """The same, once the score backs it."""
    backing: float = 1.2
    """The score that backs a flat counter."""

    masks: tuple[tuple[str, str], ...] = ()
    """Further noise: (regular expression, placeholder), applied before results are compared."""
    counters: tuple[str, ...] = ()
    """Further counters: regular expressions with one group `count`, lower is better."""

    @field_validator("masks", "counters")
    @classmethod
    def _patterns_compile(cls, value: tuple[Any, ...]) -> tuple[Any, ...]:
        for item in value:
            pattern = item if isinstance(item, str) else item[0]
            try:
                compiled = re.compile(pattern)
            except re.error as error:
                raise ValueError(f"{pattern!r} is no regular expression: {error}") from None
            if isinstance(item, str) and "count" not in compiled.groupindex:
                raise ValueError(f"{pattern!r} has no group (?P<count>…)")
        return value

    @model_validator(mode="after")
    def _stop_comes_after_tell(self) -> "ProgressSettings":
        if self.stop < self.tell:
            raise ValueError("stop must not be below tell: the model is told before it is stopped")
        return self

    @classmethod
    def preset(cls, name: Preset) -> "ProgressSettings":
        """`default`; `strict`: any one signal suffices; `off`: never a word."""
        if name == "off":
            return cls(enabled=False)
        if name == "strict":
            one = Flat(tell=1, stop=2)
            return cls(
                tell=1.0,
                stop=2.0,
                repeat_after_change=1.0,
                same_error=1.0,
                same_call_same_error=1.0,
                same_telling_result=1.0,
                same_result=1.0,
                empty_elsewhere=1.0,
                poll=1.0,
                transient=1.0,
                duplicates=1.0,
                flat_same=one,
                flat_other=one,
                flat_unknown=one,
                flat_backed=one,
            )
        return cls()
