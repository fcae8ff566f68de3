import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

PROGRAM = Path(__file__).parent.parent / "ordinary_user.py"


@pytest.fixture(scope="module")
def report() -> dict[str, Any]:
    found: dict[str, Any] = json.loads(subprocess.check_output([sys.executable, str(PROGRAM)]))
    return found


def test_what_may_not_be_read_is_named_and_still_restored(report: dict[str, Any]) -> None:
    found = report["locked_paths"]
    assert found["noted"] == {"closed": "unreadable", "new": "unreadable"}
    assert found["left"] == {"closed": "replaced", "new": "unreadable"}
    assert found["restored"]


def test_a_known_file_made_unreadable_keeps_its_content(report: dict[str, Any]) -> None:
    found = report["locked_paths"]
    assert found["again"] == {"closed": "unreadable", "new": "unreadable"}
    assert found["modes"] == {"closed": "0o755", "secret": "0o0"}
    assert found["text"] == "secret"


def test_folders_closed_to_writing_are_no_obstacle(report: dict[str, Any]) -> None:
    assert report["closed_folders"] == {"different": []}


def test_a_store_that_cannot_be_written_is_one_error(report: dict[str, Any]) -> None:
    assert report["read_only_store"]["errors"] == [
        "cannot open the snapshots in /data/objects.sqlite: Permission denied; "
        "check the data folder",
        "cannot write headway's data folder /data/below: Permission denied; set HEADWAY_HOME",
    ]
