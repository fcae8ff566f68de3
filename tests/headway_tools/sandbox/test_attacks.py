"""Every attack works without the sandbox and none works in it, as root and as an ordinary user."""

import json
import os
import subprocess
import sys
import tempfile
from functools import cache
from pathlib import Path

import pytest
from _pytest.mark import ParameterSet
from sandbox import attack_worker
from sandbox.attack import Attack
from sandbox.attacks import ATTACKS

IDENTITIES = ["root", "user"] if os.geteuid() == 0 else ["user"]
"""An ordinary user cannot become root to try it as root."""

SOURCES = [Path(__file__).parents[1], Path(attack_worker.__file__).parents[3] / "tools"]


def cases(*, slow: bool) -> list[ParameterSet]:
    """Fast, every other attack, in turn as root and as a user; slow, all the rest."""
    return [
        pytest.param(identity, at, id=f"{identity}-{attack.name}")
        for at, attack in enumerate(ATTACKS)
        for turn, identity in enumerate(IDENTITIES)
        if attack.only in (None, identity)
        if is_fast(at, turn, attack) != slow
    ]


def is_fast(at: int, turn: int, attack: Attack) -> bool:
    its_turn = attack.only is not None or (at // 2 + turn) % len(IDENTITIES) == 0
    return at % 2 == 0 and its_turn


@cache
def told_by(identity: str, slow: bool) -> dict[str, dict[str, object]]:
    """What the worker saw, for all attacks in one process.

    Its folder is one that any user may enter, which pytest's own are not.
    """
    numbers = [str(case.values[1]) for case in cases(slow=slow) if case.values[0] == identity]
    with tempfile.TemporaryDirectory(prefix="headway-attacks-", dir="/tmp") as folder:
        Path(folder).chmod(0o777)
        done = subprocess.run(
            [sys.executable, attack_worker.__file__, identity, folder, *numbers],
            env=os.environ | {"PYTHONPATH": ":".join(map(str, SOURCES))},
            capture_output=True,
            text=True,
            check=False,
        )
    assert done.returncode == 0, done.stderr[-2000:]
    told: dict[str, dict[str, object]] = json.loads(done.stdout)
    return told


def test_the_attacks_are_of_many_kinds() -> None:
    assert len({attack.name for attack in ATTACKS}) == len(ATTACKS) >= 140
    assert len(cases(slow=False)) >= 60


@pytest.mark.parametrize(("identity", "at"), cases(slow=False))
def test_attack_works_without_the_sandbox_only(identity: str, at: int) -> None:
    told = told_by(identity, slow=False)[ATTACKS[at].name]
    assert not told["sandbox"], told["sandbox_output"]
    assert told["control"], told["control_output"]


@pytest.mark.slow
@pytest.mark.parametrize(("identity", "at"), cases(slow=True))
def test_attack_works_without_the_sandbox_only_the_rest(identity: str, at: int) -> None:
    told = told_by(identity, slow=True)[ATTACKS[at].name]
    assert not told["sandbox"], told["sandbox_output"]
    assert told["control"], told["control_output"]
