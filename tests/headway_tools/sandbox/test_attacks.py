"""Every attack works without the sandbox and none works in it, as root and as an ordinary user."""

import json
import os
import subprocess
import sys
import tempfile
from functools import cache
from pathlib import Path

import pytest
from sandbox import attack_worker
from sandbox.attacks import ATTACKS, Attack

IDENTITIES = ["root", "user"] if os.geteuid() == 0 else ["user"]
"""An ordinary user cannot become root to try it as root."""

SOURCES = [Path(__file__).parents[1], Path(attack_worker.__file__).parents[3] / "tools"]

CASES = [
    pytest.param(identity, attack, id=f"{identity}-{attack.name}")
    for identity in IDENTITIES
    for attack in ATTACKS
    if attack.only in (None, identity)
]


@cache
def told_by(identity: str) -> dict[str, dict[str, object]]:
    """What the worker saw, for all attacks in one process.

    Its folder is one that any user may enter, which pytest's own are not.
    """
    with tempfile.TemporaryDirectory(prefix="headway-attacks-", dir="/tmp") as folder:
        Path(folder).chmod(0o777)
        done = subprocess.run(
            [sys.executable, attack_worker.__file__, identity, folder, "0", str(len(ATTACKS))],
            env=os.environ | {"PYTHONPATH": ":".join(map(str, SOURCES))},
            capture_output=True,
            text=True,
            check=False,
        )
    assert done.returncode == 0, done.stderr[-2000:]
    return json.loads(done.stdout)


def test_the_attacks_are_of_many_kinds() -> None:
    assert len({attack.name for attack in ATTACKS}) == len(ATTACKS) >= 60


@pytest.mark.parametrize(("identity", "attack"), CASES)
def test_attack_fails_in_the_sandbox_and_works_without(identity: str, attack: Attack) -> None:
    told = told_by(identity)[attack.name]
    assert not told["sandbox"], told["sandbox_output"]
    assert told["control"], told["control_output"]
