"""Every example runs as it stands, with its scripted models, and stays short."""

import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[2] / "examples"

LAST_LINE = {
    "supervisor": "Four, 19.50.",
    "swarm": "writer: I write from here on.",
    "map_reduce": "part1: 1, completed; part2: 2, completed; part3: 3, completed",
    "plan_and_execute": "{'execute': {'steps': [], 'done': "
    "['read index: found it', 'read two: found it']}}",
    "reflexion": "trial 2: completed, 'port = 8080\\n'",
    "react_and_cot": "Canberra (looked up)",
}


def test_every_example_is_tested() -> None:
    assert {path.stem for path in EXAMPLES.glob("*.py")} == {*LAST_LINE, "models"}


@pytest.mark.parametrize("name", LAST_LINE)
def test_an_example_runs_and_says_what_it_should(name: str, tmp_path: Path) -> None:
    path = EXAMPLES / f"{name}.py"
    done = subprocess.run(
        [sys.executable, str(path)], capture_output=True, text=True, cwd=tmp_path, timeout=120
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1] == LAST_LINE[name]
    assert len(path.read_text().splitlines()) <= 60
