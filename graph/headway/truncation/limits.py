"""How much of a result the model sees: named defaults, overrides per tool, off."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final, NamedTuple

from headway_tools.errors import HeadwayError

CHARACTERS: Final = 12_000
"""About 3,000 tokens: a hundred results of this size fit a window of 400,000 tokens."""

LINES: Final = 300

LEAST_CHARACTERS: Final = 500
"""Below this the notice itself would not fit."""

LEAST_LINES: Final = 10


class Room(NamedTuple):
    """What is left for one text of an observation."""

    characters: int
    lines: int


@dataclass(frozen=True)
class TruncationLimits:
    """Bounds of one observation, notice included. `HeadwayError` for bounds too small to be met;
    to switch shortening off, use None in place of limits."""

    characters: int = CHARACTERS
    lines: int = LINES

    def __post_init__(self) -> None:
        if self.characters < LEAST_CHARACTERS or self.lines < LEAST_LINES:
            raise HeadwayError(
                f"an observation needs at least {LEAST_CHARACTERS} characters and {LEAST_LINES}"
                " lines; pass None to switch shortening off"
            )

    @property
    def room(self) -> Room:
        return Room(self.characters, self.lines)


Truncation = (
    TruncationLimits
    | Mapping[str, TruncationLimits | None]
    | Callable[[str], TruncationLimits | None]
    | None
)
"""For all tools; by tool name (others: the defaults); computed from the name; None = off."""


def limits_for(tool: str, setting: Truncation) -> TruncationLimits | None:
    """The limits of one tool; None = its results are shown whole. `HeadwayError` for anything
    else; an exception of the caller's own function passes unchanged."""
    found: object = setting
    if isinstance(setting, Mapping):
        found = setting.get(tool, TruncationLimits())
    elif callable(setting):
        found = setting(tool)
    if found is None or isinstance(found, TruncationLimits):
        return found
    raise HeadwayError(f"truncation of {tool}: give TruncationLimits or None, not {found!r:.80}")
