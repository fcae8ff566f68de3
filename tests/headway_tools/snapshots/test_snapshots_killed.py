import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

PROGRAM = Path(__file__).parent.parent / "kill_snapshots.py"


def kill(folder: Path, mode: str, number: int) -> dict[str, Any]:
    command = [sys.executable, str(PROGRAM), str(folder), mode, str(number)]
    report: dict[str, Any] = json.loads(subprocess.check_output(command))
    return report


def test_killed_at_a_sample_of_our_lines_nothing_is_lost(tmp_path: Path) -> None:
    report = kill(tmp_path, "lines", 409)
    assert report["kills"] >= 20
    assert report["faults"] == []
    assert report["exit"] == 0


def test_killed_at_random_instants_nothing_is_lost(tmp_path: Path) -> None:
    assert kill(tmp_path, "random", 20) == {"kills": 20, "exit": 0, "faults": []}


@pytest.mark.slow
def test_killed_at_every_few_lines_nothing_is_lost(tmp_path: Path) -> None:
    report = kill(tmp_path, "lines", 11)
    assert report["kills"] >= 500
    assert report["faults"] == []


@pytest.mark.slow
def test_killed_at_three_hundred_instants_nothing_is_lost(tmp_path: Path) -> None:
    assert kill(tmp_path, "random", 300)["faults"] == []
