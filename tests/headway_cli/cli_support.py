"""What the tests of the command share: how it ended, and replies of a scripted model."""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Done:
    """How the command ended."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


Headway = Callable[..., Done]
Script = Callable[[Sequence[dict[str, Any]]], str]


def call(name: str, **args: Any) -> dict[str, Any]:
    """A reply with one tool call."""
    return {"tool_calls": [{"name": name, "args": args}]}


EDIT = call("edit", path="a.txt", old_text="hello", new_text="bye")
DONE = {"content": "Changed."}
