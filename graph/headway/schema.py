"""Threads of another version: what this one cannot read is refused, never guessed."""

from collections.abc import Mapping
from typing import Any

from headway.state import SCHEMA_VERSION
from headway_tools.errors import HeadwayError


def check_schema(values: Mapping[str, Any]) -> None:
    """`HeadwayError` for a state written by a newer headway."""
    found = values.get("hw_schema", SCHEMA_VERSION)
    if found > SCHEMA_VERSION:
        raise HeadwayError(
            f"this thread was written by a newer headway (schema {found}, here "
            f"{SCHEMA_VERSION}); upgrade headway to go on with it"
        )
