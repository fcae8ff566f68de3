"""Every test has a data folder and an environment of its own; no test reaches a real endpoint."""

import os
import tempfile
from pathlib import Path

import pytest
from hypothesis import settings

settings.register_profile("same", derandomize=True, deadline=None)
settings.register_profile("search", deadline=None)
settings.load_profile("same")
"""The fast suite tries the same examples each time; `--hypothesis-profile=search` finds others."""


def pytest_xdist_auto_num_workers() -> int:
    """Half as many again as there are cores: a third of the suite's time is waiting for commands
    and servers."""
    return (os.cpu_count() or 2) * 3 // 2


@pytest.fixture(autouse=True, scope="session")
def reachable(tmp_path_factory: pytest.TempPathFactory) -> None:
    """An ordinary user can walk to the tests' folders, whatever stands above them."""
    base = tmp_path_factory.getbasetemp()
    for folder in (base, *base.parents):
        if folder.is_relative_to(tempfile.gettempdir()) and folder != Path(tempfile.gettempdir()):
            folder.chmod(folder.stat().st_mode | 0o055)


@pytest.fixture(autouse=True)
def own_home(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    home = tmp_path_factory.mktemp("headway-home")
    monkeypatch.setenv("HEADWAY_HOME", str(home))
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL", "OPENAI_API_BASE", "HEADWAY_MODEL"):
        monkeypatch.delenv(name, raising=False)
    return home


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    folder = tmp_path / "workspace"
    folder.mkdir()
    (folder / "a.txt").write_text("hello\nworld\n")
    return folder
