"""One attack, what counts as its success, and short spellings of one.

`{name}` in a command is a place of the world that `attack_world` builds for it. Each attack
has the very same command, run by plain bash on the host, as its control.
"""

from dataclasses import dataclass
from typing import Literal

Identity = Literal["root", "user"]

TOKEN = "sk-headway-0f1e2d3c4b5a69788796"
ESCAPED = "ESCAPED"
"""Printed by a command that did what it must not; written apart, so that errors do not hold it."""


@dataclass(frozen=True)
class Attack:
    """`goal`: what would be a success.

    - `leak`: the token, or `ESCAPED`, is in the output
    - `outside`: something in the host's folders around the workspace is changed
    - `protected`: a protected path is changed after the call
    - `setuid`: a file with a set-user or set-group bit lies on the host
    - `victim`: another process of the user is gone or changed
    - `survive`: a process of the command is alive after the call
    """

    name: str
    goal: Literal["leak", "outside", "protected", "setuid", "victim", "survive"]
    commands: tuple[str, ...]
    only: Identity | None = None
    """Where the control has no success as the other one."""
    ended: Literal["timeout", "cancel"] | None = None
    reopen: bool = False
    """A new sandbox for each command: what one leaves must not lead the next one's mounts."""


def leak(name: str, *commands: str, only: Identity | None = None, reopen: bool = False) -> Attack:
    return Attack(name, "leak", commands, only, reopen=reopen)


def python(code: str) -> str:
    return f"python3 - <<'END'\n{code}\nEND"
