"""What commands see: the workspace under its name, toolchains, a private home, nothing else."""

import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from sandbox.support import Open

from headway_tools.errors import SandboxError
from headway_tools.sandbox import SandboxPolicy, open_sandbox, visible_folders


def test_a_branch_stands_at_the_name_of_the_workspace(opened: Open, tmp_path: Path) -> None:
    branch = tmp_path / "elsewhere"
    branch.mkdir()
    result = opened(root=branch, path=Path("/srv/my project")).run("pwd; echo x >made", timeout=20)
    assert result.stdout == "/srv/my project\n"
    assert (branch / "made").read_text() == "x\n"


def test_home_and_tmp_last_and_are_private(opened: Open, tmp_path: Path) -> None:
    sandbox = opened()
    sandbox.run("echo a >~/kept; echo b >/tmp/kept; mktemp", timeout=20)
    assert sandbox.run("cat ~/kept /tmp/kept /var/tmp/kept", timeout=20).stdout == "a\nb\nb\n"
    assert (tmp_path / "private/home/kept").read_text() == "a\n"


def test_shell_state_does_not_last(opened: Open) -> None:
    sandbox = opened()
    sandbox.run("cd /tmp; export X=1", timeout=20)
    assert sandbox.run("pwd; echo $X", timeout=20).stdout == f"{sandbox.policy.path}\n\n"


def test_python_is_there_though_the_home_is_hidden(opened: Open) -> None:
    result = opened().run("python -c 'import ssl; print(1)'; python3 -c 'print(2)'", timeout=20)
    assert result.stdout == "1\n2\n"


def test_python_is_there_with_none_on_the_path(
    opened: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    result = opened().run("PATH=/run/headway/last; python -V; type -p python3", timeout=20)
    assert result.stdout == f"{sys.implementation.name == 'cpython' and 'Python'} " + (
        f"{sys.version.split()[0]}\n/run/headway/last/python3\n"
    )


def test_a_virtual_environment_of_the_workspace_runs(opened: Open, workspace: Path) -> None:
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", workspace / ".venv"], check=True)
    result = opened().run(".venv/bin/python -c 'import sys; print(sys.prefix)'", timeout=20)
    assert result.stdout == f"{workspace}/.venv\n"


def test_a_false_virtual_environment_shows_nothing(workspace: Path, tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    (secret / "bin").mkdir(parents=True)
    (secret / "bin/python").write_text("key")
    (workspace / "env/bin").mkdir(parents=True)
    (workspace / "env/pyvenv.cfg").write_text(f"home = {secret}/bin\n")
    (workspace / "env/bin/python").symlink_to(secret / "bin/python")
    shown = visible_folders(SandboxPolicy(workspace, workspace, tmp_path / "private"))
    assert not [path for path in shown if path == secret or secret in path.parents]


def test_neither_a_home_nor_what_holds_it_is_shown(
    workspace: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = tmp_path / "home"
    for folder in ("bin", "lib", ".local/bin", ".local/lib", "tool/bin", "tool/lib"):
        (home / folder).mkdir(parents=True)
    monkeypatch.setenv("HOME", str(home))
    entries = (home, home / "bin", home / ".local/bin", home / "tool/bin")
    monkeypatch.setenv("PATH", ":".join(map(str, entries)))
    shown = visible_folders(SandboxPolicy(workspace, workspace, tmp_path / "private"))
    below = {str(path.relative_to(home)) for path in shown if path.is_relative_to(home)}
    assert below == {"bin", ".local/bin", "tool"}


def test_a_link_on_the_path_brings_what_it_leads_to(
    opened: Open, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tool = tmp_path / "tools/thing-1.0"
    (tool / "bin").mkdir(parents=True)
    (tool / "lib").mkdir()
    (tool / "lib/data").write_text("data\n")
    (tool / "bin/thing").write_text(f"#!/bin/sh\ncat {tool}/lib/data\n")
    (tool / "bin/thing").chmod(0o755)
    links = tmp_path / "links"
    links.mkdir()
    (links / "thing").symlink_to(tool / "bin/thing")
    monkeypatch.setenv("PATH", f"{links}:{os.environ['PATH']}")
    assert opened().run("thing", timeout=20).stdout == "data\n"


def test_folders_given_are_read_only(opened: Open, tmp_path: Path) -> None:
    given = tmp_path / "given"
    given.mkdir()
    (given / "file").write_text("text\n")
    result = opened(read_only=(given,)).run(f"cat {given}/file; echo x >{given}/file", timeout=20)
    assert result.stdout == "text\n"
    assert "Read-only" in result.stderr


def test_usual_programs_work(opened: Open) -> None:
    script = """set -e
    git init -q; echo a >f; git add f; git -c user.name=n -c user.email=e commit -qm m
    git status --short; git log --oneline | wc -l; mktemp -d >/dev/null; echo x >/dev/null
    ls /dev/shm; python3 -c 'print("é")'; tar cf t.tar f; tar xf t.tar; id -un; date >/dev/null
    """
    result = opened().run(script, timeout=60)
    assert (result.exit_code, result.stderr) == (0, "")
    assert result.stdout.split() == ["1", "é", "agent"]


def test_gits_own_name_comes_from_the_user_but_yields_to_the_repositorys(
    opened: Open, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = tmp_path / "users-home"
    home.mkdir()
    (home / ".gitconfig").write_text('[user]\n\tname = "A \\"B\\" C"\n\temail = a@localhost\n')
    monkeypatch.setenv("HOME", str(home))
    sandbox = opened()
    script = "git init -q; git config user.name; echo '[user]\n\tname = Other' >>.git/config; "
    assert sandbox.run(script + "git config user.name", timeout=20).stdout == 'A "B" C\nOther\n'


def test_no_variable_of_the_host_comes_along(opened: Open, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOME_SETTING", "private-value")
    monkeypatch.setenv("TZ", "Asia/Tokyo")
    result = opened().run("env; date +%Z", timeout=20)
    assert "private-value" not in result.stdout
    assert "JST" in result.stdout


def test_only_with_network_the_hosts_loopback_is_there(opened: Open) -> None:
    probe = "grep -c : /proc/net/dev"
    assert opened().run(probe, timeout=20).stdout == "1\n"
    count = opened(network=True).run(probe, timeout=20).stdout
    interfaces = Path("/proc/net/dev").read_text().count(":")
    assert count == f"{interfaces}\n"


def test_a_workspace_that_is_gone_is_an_error_of_the_user(tmp_path: Path) -> None:
    with pytest.raises(Exception, match="is not a folder"):
        open_sandbox(SandboxPolicy(tmp_path / "no", tmp_path / "no", tmp_path / "private"))


def test_git_reads_in_a_worktree_and_writes_nothing_in_its_repository(
    opened: Open, workspace: Path, tmp_path: Path
) -> None:
    main = tmp_path / "main"
    for command in ("git init -q main", "git -C main commit -q --allow-empty -m one",
                    "git -C main worktree add -q ../worktree"):  # fmt: skip
        identity = ["-c", "user.name=n", "-c", "user.email=e"]
        subprocess.run(["git", *identity, *command.split()[1:]], cwd=tmp_path, check=True)
    worktree = tmp_path / "worktree"
    sandbox = opened(root=worktree, path=worktree)
    result = sandbox.run("git log --oneline | wc -l; echo x >f; git status --short", timeout=20)
    assert result.stdout == "1\n?? f\n"
    assert sandbox.run(f"touch {main}/.git/x", timeout=20).exit_code == 1
    (worktree / ".git").unlink()
    (worktree / ".git").write_text(f"gitdir: {tmp_path}/other/.git/worktrees/worktree\n")
    (tmp_path / "other/.git/worktrees/worktree").mkdir(parents=True)
    (tmp_path / "other/.git/worktrees/worktree/gitdir").write_text("/elsewhere/.git\n")
    assert "other" not in str(visible_folders(sandbox.policy))


@pytest.mark.parametrize("shown", ["workspace", "read_only"])
def test_the_data_folder_appears_empty_wherever_it_is_seen(
    opened: Open, workspace: Path, tmp_path: Path, shown: str
) -> None:
    top = workspace if shown == "workspace" else tmp_path / "shown"
    data = top / "share/data"
    (data / "threads/other").mkdir(parents=True)
    for name in (".env", "journal", "threads/other/journal"):
        (data / name).write_text("key")
    sandbox = opened(
        private=data / "threads/t/private",
        withheld=(data,),
        protect=("share/data/journal",),
        read_only=() if shown == "workspace" else (top,),
    )
    for command in (f"cd {top}; mv share elsewhere", "true"):
        attempt = f"{command}; grep -rs key {top}; echo x >{data}/journal; rm -rf {top}/share"
        assert sandbox.run(attempt, timeout=20).stdout == ""
    assert {(data / n).read_text() for n in (".env", "journal", "threads/other/journal")} == {"key"}
    assert sandbox.run("echo y >~/kept; cat ~/kept", timeout=20).stdout == "y\n"


@pytest.mark.parametrize("path", ["/", "/home", "/run", "/proc", "/dev"])
def test_a_workspace_cannot_cover_what_the_sandbox_has_of_its_own(opened: Open, path: str) -> None:
    with pytest.raises(SandboxError, match="would cover the sandbox's own.*--sandbox none"):
        opened(path=Path(path), root=Path(path))


def test_tmp_may_be_the_workspace(opened: Open, workspace: Path) -> None:
    (workspace / "f").write_text("here")
    assert opened(path=Path("/tmp")).run("pwd; cat /tmp/f", timeout=20).stdout == "/tmp\nhere"


def test_keys_in_a_home_that_is_the_workspace_are_hidden_and_stay_so(
    opened: Open, workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(workspace))
    for name in (".ssh/id_rsa", ".netrc", ".local/share/keyrings/login"):
        (workspace / name).parent.mkdir(parents=True, exist_ok=True)
        (workspace / name).write_text("key")
    sandbox = opened()
    sandbox.run("mv .local elsewhere; mv .ssh .netrc elsewhere", timeout=20)
    result = sandbox.run("ls -A .ssh .local/share/keyrings; grep -rs key .; true", timeout=20)
    assert result.stdout == ".local/share/keyrings:\n\n.ssh:\n"


def test_sandboxes_of_one_thread_can_be_opened_at_the_same_time(opened: Open) -> None:
    with ThreadPoolExecutor(6) as pool:
        results = pool.map(lambda number: opened().run(f"echo {number}", timeout=60), range(12))
    assert [result.stdout for result in results] == [f"{number}\n" for number in range(12)]
