"""The served graph: the operator's half of the configuration comes from the environment.

A client fills `headway.Context` only. Nothing is opened here, and no key is needed to import or
draw: servers call this again and again. `docs/deploy.md` documents the variables.
"""

import os
from functools import lru_cache
from pathlib import Path
from typing import Any, cast, get_args

from headway.build import Agent, compile_agent, make_parts
from headway.context import Protocol
from headway.limits import Limits
from headway.options import Options
from headway_tools.errors import HeadwayError
from headway_tools.home import default_home


@lru_cache(maxsize=1)
def served() -> Agent:
    """The graph of this process. The server brings the checkpointer; each thread gets a workspace
    of its own below `HEADWAY_WORKSPACES`."""
    parts = make_parts(
        os.environ.get("HEADWAY_MODEL"), tools=None, name="headway", options=_options()
    )
    return compile_agent(parts)


def _options() -> Options:
    home = default_home()
    root = os.environ.get("HEADWAY_WORKSPACES")
    options: dict[str, Any] = {
        "home": home,
        "workspace_root": Path(root) if root else home / "workspaces",
        "sandbox": _one_of("HEADWAY_SANDBOX", ("bubblewrap", "none")),
        "protocol": _one_of("HEADWAY_PROTOCOL", get_args(Protocol)),
        "network": os.environ.get("HEADWAY_NETWORK") == "1",
        "check": os.environ.get("HEADWAY_CHECK"),
        "ask": os.environ.get("HEADWAY_ASK", "never"),
        "models": _names("HEADWAY_MODELS"),
        "limits": _limits(),
        "window": _tokens("HEADWAY_WINDOW"),
        "interactive": True,
    }
    return cast(Options, options)


def _one_of(variable: str, words: tuple[str, ...]) -> str:
    """The variable's value, the first of `words` where it is not set."""
    value = os.environ.get(variable, words[0])
    if value not in words:
        raise HeadwayError(f"{variable} is {' or '.join(words)}")
    return value


def _tokens(variable: str) -> int | None:
    value = os.environ.get(variable)
    if value and not value.isdecimal():
        raise HeadwayError(f"{variable} is a number of tokens")
    return int(value) if value else None


def _names(variable: str) -> tuple[str, ...]:
    return tuple(name.strip() for name in os.environ.get(variable, "").split(",") if name.strip())


def _limits() -> Limits:
    """`HEADWAY_LIMIT_MODEL_CALLS=40` and its like."""
    given = {
        name: os.environ[f"HEADWAY_LIMIT_{name.upper()}"]
        for name in Limits.model_fields
        if f"HEADWAY_LIMIT_{name.upper()}" in os.environ
    }
    try:
        return Limits.model_validate(given)
    except ValueError as error:
        raise HeadwayError(f"HEADWAY_LIMIT_…: {error}") from error
