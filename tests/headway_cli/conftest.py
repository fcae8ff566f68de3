"""The command in this process, with real threads, sandbox and files; only the model is scripted."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from cli_support import DONE, EDIT, Done, Headway, Script, call

from headway_cli.main import main


@pytest.fixture
def headway(capsys: pytest.CaptureFixture[str]) -> Headway:
    """Run `headway ARGV`."""

    def run(*argv: str) -> Done:
        capsys.readouterr()
        code = main(argv)
        seen = capsys.readouterr()
        return Done(code, seen.out, seen.err)

    return run


@pytest.fixture
def script(tmp_path: Path) -> Script:
    """Write a model's replies; the value for --model."""

    def write(replies: Sequence[dict[str, Any]]) -> str:
        path = tmp_path / f"script-{len(list(tmp_path.glob('script-*')))}.jsonl"
        path.write_text("".join(json.dumps(reply) + "\n" for reply in replies))
        return f"scripted:{path}"

    return write


@pytest.fixture
def otter(headway: Headway, script: Script, workspace: Path) -> Path:
    """A workspace in which thread `otter` changed a.txt and made new.txt."""
    replies = [EDIT, call("bash", command="echo made > new.txt"), DONE]
    place = ("-C", str(workspace), "--thread", "otter")
    assert headway("run", "make it bye", *place, "--model", script(replies)).code == 0
    return workspace
