"""The form of every result of our own tools: one JSON object with `ok`, as text."""

import json
from collections.abc import Mapping

from headway_tools.env import current_env


def observation(result: Mapping[str, object]) -> str:
    """`result` as the text that the model reads: compact JSON, characters as they are.

    Lone surrogates (undecodable file names) become `\\udcXX` escapes, so every server accepts it.
    """
    text = json.dumps(result, ensure_ascii=False, separators=(", ", ": "), default=str)
    return text.encode("utf-8", "backslashreplace").decode("utf-8")


def told(result: Mapping[str, object]) -> str:
    """`observation` without the host's secrets: callbacks (tracers) see what a tool returns before
    the journal masks it."""
    return current_env().mask(observation(result))
