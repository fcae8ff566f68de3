"""Each command of `bench/` starts, and is told of where somebody looks for it."""

import importlib.util
import re
import sys
from pathlib import Path

import pytest

BENCH = Path(__file__).parents[2] / "bench"
HELPERS = {"progress_data.py", "progress_peers.py", "aegra.py"}
"""Parts of another command."""


@pytest.mark.parametrize("path", sorted(BENCH.glob("*.py")), ids=lambda path: path.name)
def test_a_measurement_can_be_started(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(BENCH)
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, path.stem, module)
    spec.loader.exec_module(module)
    assert path.name in HELPERS or callable(module.main)


def test_the_page_names_each_of_them() -> None:
    named = set(re.findall(r"bench/(\w+\.(?:py|sh))", (BENCH / "README.md").read_text()))
    files = {path.name for path in BENCH.iterdir() if path.suffix in (".py", ".sh")}
    assert named == files - HELPERS
