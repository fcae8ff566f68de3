"""A small project with a fault and its tests, and policies that claim to have mended it."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from langchain_core.messages import ToolCall

from headway import Outcome, run_agent
from headway.progress import Flat, ProgressSettings
from headway.testing import PolicyModel
from policies import bash, call, replies

UNITTEST = "python3 -m unittest -q"
PYTEST = "PYTEST_DISABLE_PLUGIN_AUTOLOAD=1 python3 -m pytest -q"

IMPATIENT = ProgressSettings(flat_declared=Flat(tell=1, stop=1))
"""One evaluation without a new minimum ends the run: these tests are about what one is worth."""

CODE = "def add(a, b):\n    return a - b\n"
FIXED = "def add(a, b):\n    return a + b\n"
TEST = """\
import unittest

from calc import add


class AddTest(unittest.TestCase):
    def test_adds(self):
        self.assertEqual(add(2, 3), 5)

    def test_adds_nothing(self):
        self.assertEqual(add(2, 0), 2)
"""

FIX = call("edit", "fix", path="calc.py", old_text="a - b", new_text="a + b")


def tree(root: Path, files: Mapping[str, str]) -> Path:
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return root


def writes(path: str, text: str, id: str = "w1") -> ToolCall:
    return bash(f"mkdir -p $(dirname {path}); cat > {path} <<'EOF'\n{text}\nEOF", id)


def claims(*calls: ToolCall) -> PolicyModel:
    """A policy that makes these calls in one reply and says that it is done, again and again."""
    return replies(list(calls), "All tests pass now.")


def run(project: Path, model: Any, check: str = UNITTEST, **options: Any) -> Outcome:
    options = {"progress": IMPATIENT, **options}
    return run_agent("mend add", model=model, workspace=project, check=check, **options)


MAKEFILE = "test:\n\tpython3 -m unittest -q\n"
