"""A small workspace and a store beside it."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from headway_tools.snapshots import Snapshots


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = tmp_path / "work"
    (root / "src").mkdir(parents=True)
    (root / "src/main.py").write_text("one\ntwo\n")
    (root / "empty").mkdir()
    return root


@pytest.fixture
def snapshots(tmp_path: Path) -> Iterator[Snapshots]:
    snapshots = Snapshots(tmp_path / "store")
    yield snapshots
    snapshots.close()
