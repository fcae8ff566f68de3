"""Sandboxes over fresh workspaces."""

from pathlib import Path

import pytest
from sandbox.support import Open

from headway_tools.sandbox import Sandbox, SandboxKind, SandboxPolicy, open_sandbox


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    folder = tmp_path / "workspace"
    folder.mkdir()
    return folder


@pytest.fixture
def opened(tmp_path: Path, workspace: Path) -> Open:
    """`opened(kind, **policy)`: a sandbox over `workspace`."""

    def open_with(kind: SandboxKind = "bubblewrap", **policy: object) -> Sandbox:
        given = {"path": workspace, "root": workspace, "private": tmp_path / "private"} | policy
        return open_sandbox(SandboxPolicy(**given), kind)  # type: ignore[arg-type]

    return open_with


@pytest.fixture(params=["bubblewrap", "none"])
def each_kind(request: pytest.FixtureRequest, opened: Open) -> Sandbox:
    return opened(request.param)
