"""Each folder of `edits/` is one call: the files before, the call with its result, the files after.

A folder that is not there is an empty one. `result` names the fields to compare.
"""

import json
from pathlib import Path

import pytest
from files_support import edit_result

from headway_tools.workspace import Workspace

CASES = sorted(path.parent for path in (Path(__file__).parent / "edits").glob("*/call.json"))


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_edit_leaves_the_files_after(case: Path, tmp_path: Path) -> None:
    call = json.loads((case / "call.json").read_text())
    for path, data in tree(case / "before").items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_bytes(data)
    workspace = Workspace(tmp_path, tmp_path, protect=("tests",), hide=(".env*",))

    result = edit_result(workspace, **call["arguments"])

    assert {key: result.get(key) for key in call["result"]} == call["result"]
    assert tree(tmp_path) == tree(case / "after")


def tree(folder: Path) -> dict[str, bytes]:
    files = (path for path in folder.rglob("*") if path.is_file())
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in files}
