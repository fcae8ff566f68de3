"""The project that each check is about."""

from pathlib import Path

import pytest
from check_support import CODE, TEST, tree


@pytest.fixture
def project(tmp_path: Path) -> Path:
    return tree(
        tmp_path / "project", {"calc.py": CODE, "tests/__init__.py": "", "tests/test_add.py": TEST}
    )
