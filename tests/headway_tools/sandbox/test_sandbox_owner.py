"""As root, commands in somebody else's workspace work as that user."""

import os
import stat
import sys
from pathlib import Path

from sandbox.support import Open

from headway_tools.sandbox import Sandbox
from headway_tools.sandbox.private import PrivateFolder, clear_way

OWNER = 61235


def run(opened: Open, workspace: Path, command: str) -> str:
    """As root in a workspace of `OWNER`; as an ordinary user in the user's own."""
    if os.geteuid() == 0:
        os.chown(workspace, OWNER, OWNER)
    sandbox: Sandbox = opened()
    result = sandbox.run(command, timeout=60)
    assert result.exit_code == 0, result
    return result.stdout


def test_files_belong_to_the_owner(opened: Open, workspace: Path) -> None:
    owner = workspace.stat().st_uid if os.geteuid() else OWNER
    told = run(opened, workspace, "touch made ~/made /tmp/made; id -u; git init -q; git status -s")
    assert told.splitlines()[0] == str(owner)
    assert (workspace / "made").stat().st_uid == owner


def test_toolchains_in_a_closed_home_are_there(opened: Open, workspace: Path) -> None:
    told = run(
        opened,
        workspace,
        f"{os.path.realpath(sys.executable)} -c 'import ssl; print(1)'; python -V",
    )
    assert told.startswith("1\nPython 3")


def test_the_owner_has_no_rights_of_root(opened: Open, workspace: Path) -> None:
    status = run(opened, workspace, "grep -E 'CapEff|CapPrm|NoNewPrivs' /proc/self/status")
    assert [line.split()[1] for line in status.splitlines()] == ["0" * 16, "0" * 16, "1"]
    refused = "unshare -Ur true || test -w /proc/sys/vm/drop_caches || cat /proc/1/environ"
    assert run(opened, workspace, f"({refused}) 2>/dev/null || echo refused") == "refused\n"


def test_a_file_of_roots_cannot_be_read(opened: Open, workspace: Path) -> None:
    secret = workspace / "roots"
    secret.write_text("roots")
    secret.chmod(0)
    assert run(opened, workspace, "cat roots 2>/dev/null || echo closed") == "closed\n"


def test_setuid_files_are_refused_for_everybody(opened: Open, workspace: Path) -> None:
    run(opened, workspace, "cp /bin/true t; chmod u+s t 2>/dev/null || true")
    assert not (workspace / "t").stat().st_mode & stat.S_ISUID


def test_links_on_a_mounts_way_give_way(tmp_path: Path) -> None:
    private, outside = PrivateFolder(tmp_path / "private"), tmp_path / "outside"
    for folder in (private.tmp, private.home / "a", outside):
        folder.mkdir(parents=True)
    (private.tmp / "way").symlink_to(outside)
    (private.home / "a/file").symlink_to(outside / "file")
    targets = [Path("/tmp/way/below"), Path("/home/agent/a/file")]
    clear_way(private, Path("/home/agent"), targets)
    assert (private.tmp / "way").is_dir()
    assert not (private.tmp / "way").is_symlink()
    assert not (private.home / "a/file").is_symlink()
    assert list(outside.iterdir()) == []
