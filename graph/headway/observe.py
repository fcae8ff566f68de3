"""From references to the bounded text that the model sees."""

from collections.abc import Sequence
from typing import Any, Final

from langchain_core.messages import ToolMessage

from headway.notes import FIELD
from headway.parts import Parts
from headway.state import Observation
from headway.truncation import TruncationLimits, shorten
from headway_tools.env import ToolEnv
from headway_tools.errors import ToolFailure
from headway_tools.results import observation

MOST_REMEMBERED: Final = 50_000
"""Characters of a shown result that is kept for the next node."""


def texts(
    observations: Sequence[Observation], env: ToolEnv, parts: Parts
) -> dict[str, str | list[Any]]:
    """The bounded text of each observation, by call id."""
    tools = frozenset(tool.name for tool in parts.tools)
    return {o["call"]: _text(o, env, parts, tools) for o in observations if "call" in o}


def answers(observations: Sequence[Observation], env: ToolEnv, parts: Parts) -> list[ToolMessage]:
    """The answers that `observations` are, bounded, in their order."""
    seen = texts(observations, env, parts)
    return [
        ToolMessage(
            seen[o["call"]],
            name=o["name"],
            tool_call_id=o["call"],
            status=o["status"],
            response_metadata={FIELD: note_on(o)},
        )
        for o in observations
        if "call" in o
    ]


def note_on(seen: Observation) -> dict[str, Any]:
    """What the debugger and the report want to know of a result, besides its text."""
    return {key: seen[key] for key in ("output", "before", "after", "problem") if seen.get(key)}


def bounded(
    text: str, name: str, parts: Parts, *, output: str = "", limits: TruncationLimits | None = None
) -> str:
    """`text`, cut by the same rules, or by narrower `limits`; `output` is its id in the journal,
    where it is in there."""
    tools = frozenset(tool.name for tool in parts.tools)
    within = limits or parts.settings.truncation
    return shorten(text, limits=within, output=output, name=name, tools=tools)


def _text(seen: Observation, env: ToolEnv, parts: Parts, tools: frozenset[str]) -> str | list[Any]:
    if "output" not in seen:
        return bounded(seen.get("text", ""), seen["name"], parts)
    key = (seen["output"], seen["sha"], seen["name"])
    known = parts.shown.get(key)
    if known is not None:
        return known
    try:
        whole = env.journal.read(seen["output"])
    except ToolFailure as failure:
        return observation(failure.as_result())
    text = shorten(
        whole,
        limits=parts.settings.truncation,
        output=seen["output"],
        name=seen["name"],
        tools=tools,
    )
    if isinstance(text, str) and len(text) <= MOST_REMEMBERED:
        parts.shown.put(key, text)
    return text
