"""Protected paths after a command: the same bytes, modes, links and times, and a report."""

import os
import subprocess
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sandbox.support import Open

from headway_tools.errors import HeadwayError
from headway_tools.hidden import HiddenSearch
from headway_tools.patterns import expand
from headway_tools.sandbox import ProtectedFiles, Sandbox
from headway_tools.sandbox.mounts import MAX_MOUNTS, plan_mounts
from headway_tools.sandbox.policy import DEFAULT_HIDE


@pytest.fixture
def tree(workspace: Path) -> Path:
    (workspace / "tests/deep").mkdir(parents=True)
    (workspace / "tests/a.py").write_text("a\n")
    (workspace / "tests/a.py").chmod(0o640)
    (workspace / "tests/deep/b.bin").write_bytes(bytes(range(256)))
    (workspace / "tests/link").symlink_to("a.py")
    os.utime(workspace / "tests/a.py", (1_000_000_000, 1_000_000_000))
    return workspace


def capture(tree: Path, *patterns: str) -> ProtectedFiles:
    return ProtectedFiles.capture(tree, patterns, tree.parent / "store")


def facts(tree: Path) -> dict[str, tuple[object, ...]]:
    found = {}
    for path in [tree / "tests", *(tree / "tests").rglob("*")]:
        state = path.lstat()
        content = path.read_bytes() if path.is_file() else b""
        target = str(path.readlink()) if path.is_symlink() else ""
        found[str(path)] = (state.st_mode, state.st_uid, content, target, state.st_mtime_ns)
    return found


@pytest.mark.parametrize(
    ("command", "reported"),
    [
        ("echo x >>tests/a.py", ["tests/a.py"]),
        ("rm -r tests", ["tests"]),
        ("mv tests t; ln -s t tests", ["tests"]),
        ("mv tests t; touch tests", ["tests"]),
        ("chmod 600 tests/a.py; chmod 700 tests/deep", ["tests/a.py", "tests/deep"]),
        ("rm tests/link; ln -s deep tests/link", ["tests/link"]),
        ("rm tests/a.py; mkdir -p tests/a.py/x", ["tests/a.py"]),
        ("mkdir -p tests/new/x; touch tests/new/x/y", ["tests/new"]),
        ("echo b >tests/a.py; touch -d @1000000000 tests/a.py", ["tests/a.py"]),
        ("rm -r tests/deep; echo x >tests/a.py", ["tests/a.py", "tests/deep"]),
        ("touch elsewhere; touch tests/a.py", []),
    ],
)  # fmt: skip
def test_what_was_changed_is_reported_and_put_back(
    tree: Path, command: str, reported: list[str]
) -> None:
    files, before = capture(tree, "tests"), facts(tree)
    subprocess.run(["bash", "-c", command], cwd=tree, check=True)
    assert files.violations() == tuple(reported)
    assert files.repair() == tuple(reported)
    if reported:
        assert facts(tree) == before
    assert files.repair() == ()


def test_putting_back_does_not_follow_a_link_out_of_the_workspace(tree: Path) -> None:
    files = capture(tree, "tests/deep/b.bin")
    outside = tree.parent / "outside"
    outside.mkdir()
    (tree / "tests").rename(tree / "old")
    (tree / "tests").symlink_to(outside)
    assert files.repair() == ("tests/deep/b.bin",)
    assert list(outside.iterdir()) == []
    assert (tree / "tests/deep/b.bin").read_bytes() == bytes(range(256))


def test_what_the_user_changes_between_commands_stays(opened: Open, tree: Path) -> None:
    sandbox = opened("none", protect=("tests",))
    sandbox.run("true", timeout=20)
    (tree / "tests/a.py").write_text("the user's\n")
    result = sandbox.run("echo x >tests/new; cat tests/a.py", timeout=20)
    assert (result.stdout, result.repaired) == ("the user's\n", ("tests/new",))
    assert (tree / "tests/a.py").read_text() == "the user's\n"


def test_without_a_sandbox_comparison_alone_holds(opened: Open, tree: Path) -> None:
    result = opened("none", protect=("tests",)).run("echo x >tests/a.py", timeout=20)
    assert result.repaired == ("tests/a.py",)
    assert (tree / "tests/a.py").read_text() == "a\n"


def test_what_is_not_protected_can_be_changed(opened: Open, tree: Path) -> None:
    command = "echo x >tests/a.py; mkdir n; mv tests/deep n; rm tests/link"
    result = opened(protect=("tests/deep/b.bin",)).run(command + "; ls n", timeout=20)
    assert result.repaired == ()
    assert (tree / "tests/a.py").read_text() == "x\n"
    assert (tree / "tests/deep/b.bin").exists()


def test_an_exception_from_a_pattern(opened: Open, tree: Path) -> None:
    sandbox = opened(protect=("tests/*", "!tests/deep"))
    sandbox.run("echo x >tests/a.py; echo x >tests/deep/b.bin", timeout=20)
    assert (tree / "tests/a.py").read_text() == "a\n"
    assert (tree / "tests/deep/b.bin").read_text() == "x\n"


def test_more_files_than_mounts_are_held_by_comparison(opened: Open, workspace: Path) -> None:
    for number in range(MAX_MOUNTS + 40):
        (workspace / f"f{number}.txt").write_text("before")
    result = opened(protect=("*.txt",)).run("for f in *.txt; do echo x >$f; done", timeout=60)
    assert len(result.repaired) == 40
    assert {path.read_text() for path in workspace.glob("*.txt")} == {"before"}


def test_git_works_with_its_settings_protected(opened: Open, workspace: Path) -> None:
    sandbox = opened()
    made = sandbox.run("git init -q; git config user.name a; git config user.email b", timeout=20)
    assert (made.exit_code, made.repaired) == (0, ())
    script = """set -e
    echo a >f; git add f; git commit -qm one; git checkout -qb other; echo b >f; git stash -q
    git stash pop -q; git commit -qam two; git checkout -q -; git merge -q other
    git rebase -q HEAD; git reset -q --hard HEAD~1; git tag t; git clean -qfd; git gc -q --prune=now
    git log --oneline | wc -l"""
    result = sandbox.run(script, timeout=60)
    assert (result.exit_code, result.stdout, result.repaired) == (0, "1\n", ())
    refused = sandbox.run("git config core.pager x", timeout=20)
    assert refused.exit_code != 0
    assert refused.repaired == ()


def test_hidden_files_are_empty_inside_and_whole_outside(opened: Open, workspace: Path) -> None:
    (workspace / "sub").mkdir()
    for name in (".env", "sub/.env.local", ".env.example"):
        (workspace / name).write_text(name)
    result = opened().run("cat .env sub/.env.local .env.example; echo x >.env", timeout=20)
    assert result.stdout == ".env.example"
    assert "Read-only" in result.stderr
    assert (workspace / "sub/.env.local").read_text() == "sub/.env.local"


def test_a_protected_link_to_a_folder_stays_a_link(opened: Open, workspace: Path) -> None:
    (workspace / "data").mkdir()
    (workspace / "data/a").write_text("a")
    (workspace / "golden").symlink_to("data")
    result = opened(protect=("golden",)).run("rm golden; mkdir golden", timeout=20)
    assert result.repaired == ("golden",)
    assert (workspace / "golden").readlink() == Path("data")
    assert (workspace / "data/a").read_text() == "a"


def test_large_protected_files_are_left_to_mounts_and_else_refused(
    opened: Open, workspace: Path, tmp_path: Path
) -> None:
    (workspace / "data").mkdir()
    with (workspace / "data/large").open("wb") as file:
        file.truncate(5 << 30)
    (workspace / "data/small").write_text("small")
    sandbox = opened(protect=("data",))
    for command in ("echo x >data/large; rm data/large; mv data d; echo y >data/new", "true"):
        assert sandbox.run(command, timeout=20).repaired == ()
    assert (workspace / "data/large").stat().st_size == 5 << 30
    kept = sum(path.stat().st_size for path in (tmp_path / "private/protected").iterdir())
    assert kept < 1000
    with pytest.raises(HeadwayError, match="more than 256 MiB, and data/large cannot be held"):
        opened("none", protect=("data",)).run("true", timeout=20)


def test_what_is_hidden_can_be_chosen(opened: Open, workspace: Path) -> None:
    (workspace / "keys").mkdir()
    (workspace / "keys/a.pem").write_text("key")
    (workspace / ".env").write_text("open")
    result = opened(hide=("*.pem",)).run("cat keys/a.pem .env", timeout=20)
    assert result.stdout == "open"


HIDDEN_LINK = "mkdir settings; echo key >settings/real; ln -s settings/real .env"
HIDDEN_FOLDER = "mkdir keys.d; echo key >keys.d/a; ln keys.d/a open"


@pytest.mark.parametrize(
    ("made", "hide"),
    [
        (HIDDEN_LINK, (".env*",)),
        ("mkdir settings; echo key >settings/a; ln -s settings .env.d", (".env*",)),
        ("echo key >.env; ln .env open", (".env*",)),
        ("mkdir sub; echo key >.env; ln .env sub/.open; ln -s .env also", (".env*",)),
        (HIDDEN_FOLDER, ("keys.d",)),
        ("mkdir config; echo key >config/local", ("config/local",)),
    ],
)
@pytest.mark.parametrize("before", ["true", "mv settings s; mv config c; rm -f .env*; mv sub s"])
def test_what_is_hidden_is_so_under_every_name_and_stays_so(
    opened: Open, workspace: Path, made: str, hide: tuple[str, ...], before: str
) -> None:
    subprocess.run(["bash", "-c", made], cwd=workspace, check=True)
    sandbox = opened(hide=hide)
    seen = [sandbox.run(f"{before} 2>/dev/null; grep -rs key .", timeout=20).stdout]
    seen.append(sandbox.run("grep -Rs key .", timeout=20).stdout)
    assert seen == ["", ""]


def test_mounts_do_not_follow_links(tree: Path) -> None:
    (tree / "way").symlink_to("tests")
    (tree / ".env").symlink_to("/etc/passwd")
    plan = plan_mounts(tree, ("way/a.py", "tests/link"), HiddenSearch(DEFAULT_HIDE))
    assert plan.read_only == ("tests/a.py",)
    assert plan.hidden_files == ()


NAMES = st.sampled_from(["tests/a.py", "tests/deep/b.bin", "tests/n", "tests/deep", "tests", "x"])
STEPS = st.tuples(st.sampled_from(["write", "remove", "folder", "link", "mode"]), NAMES)


@given(st.lists(STEPS, max_size=8))
@settings(max_examples=25, deadline=None)
def test_any_changes_are_undone(
    tmp_path_factory: pytest.TempPathFactory, steps: list[tuple[str, str]]
) -> None:
    tree = tmp_path_factory.mktemp("any") / "workspace"
    (tree / "tests/deep").mkdir(parents=True)
    (tree / "tests/a.py").write_text("a")
    (tree / "tests/deep/b.bin").write_text("b")
    files, before = capture(tree, "tests"), facts(tree)
    for step, name in steps:
        subprocess.run(["bash", "-c", COMMANDS[step].format(name)], cwd=tree, check=False)
    found = files.violations()
    assert files.repair() == found
    after = facts(tree)
    if found:
        assert after == before
    assert files.violations() == ()


COMMANDS = {
    "write": "echo x 2>/dev/null >{}",
    "remove": "rm -rf {}",
    "folder": "mkdir -p {} 2>/dev/null",
    "link": "ln -sfn x {} 2>/dev/null",
    "mode": "chmod 711 {} 2>/dev/null",
}


def test_each_kind_reports(each_kind: Sandbox, workspace: Path) -> None:
    subprocess.run(["git", "init", "-q"], cwd=workspace, check=True)
    result = each_kind.run("mkdir e; echo ../e >.git/commondir", timeout=20)
    assert result.repaired == (".git/commondir",)
    assert not (workspace / ".git/commondir").exists()


def test_what_appears_later_is_hidden_from_the_next_command(opened: Open, workspace: Path) -> None:
    sandbox = opened(hide=(".env*", "!.env.example", "secret.d"))
    for number in range(3):
        for name in (f"a/b{number}/.env", f"a/b{number}/.env.example", "a/secret.d/x"):
            (workspace / name).parent.mkdir(parents=True, exist_ok=True)
            (workspace / name).write_text(f"{number}")
        result = sandbox.run("cat a/*/.env a/*/.env.example; ls a/secret.d", timeout=20)
        assert result.stdout == "".join(map(str, range(number + 1)))


@given(
    st.lists(st.sampled_from(["a", ".env", "x.pem", "d", ".env.example", "é"]), max_size=4),
    st.sampled_from([DEFAULT_HIDE, ("*.pem", ".env"), ("d/*.pem",), ("d",), ()]),
)
@settings(max_examples=60, deadline=None)
def test_both_ways_of_searching_find_the_same(
    tmp_path_factory: pytest.TempPathFactory, parts: list[str], patterns: tuple[str, ...]
) -> None:
    root = tmp_path_factory.mktemp("tree")
    (root / "d").mkdir()
    (root / "d/k.pem").touch()
    root.joinpath(*parts, "end").mkdir(parents=True, exist_ok=True)
    found = set(HiddenSearch(patterns).find(root))
    assert found == set(expand(root, patterns, anywhere=True))
