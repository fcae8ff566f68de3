"""What an agent's git commands in the workspace mean for a restore."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest
from trees_support import describe

from headway_tools.snapshots import Snapshots
from headway_tools.snapshots.rules import object_store

IDENTITY = {
    f"GIT_{who}_{what}": value
    for who in ("AUTHOR", "COMMITTER")
    for what, value in (("NAME", "A"), ("EMAIL", "a@example.org"))
}


class Repository:
    """A repository with a base commit and a commit on each of two branches; `topic` is out."""

    def __init__(self, root: Path) -> None:
        self.root = root
        root.mkdir()
        self.git("init", "-q", "-b", "main")
        self.commit("base")
        self.git("checkout", "-q", "-b", "topic")
        self.commit("topic")
        self.git("checkout", "-q", "main")
        self.commit("main")
        self.git("checkout", "-q", "topic")

    def git(self, *arguments: str) -> str:
        environment = {
            "PATH": os.environ["PATH"],
            "GIT_CONFIG_NOSYSTEM": "1",
            "GIT_CONFIG_GLOBAL": "/dev/null",
            **IDENTITY,
        }
        command = ["git", "-C", str(self.root), *arguments]
        return subprocess.run(
            command, env=environment, check=True, capture_output=True, text=True
        ).stdout

    def commit(self, name: str) -> None:
        (self.root / name).write_text(f"{name}\n")
        self.git("add", name)
        self.git("commit", "-q", "-m", name)

    def state(self) -> tuple[str, ...]:
        self.git("fsck", "--strict", "--no-dangling")
        return (
            self.git("status", "--porcelain=v2", "--branch", "--ignored"),
            self.git("for-each-ref"),
            self.git("log", "--all", "--oneline"),
            self.git("reflog"),
            self.git("stash", "list"),
            self.git("diff", "HEAD"),
        )


@pytest.fixture
def repository(tmp_path: Path) -> Repository:
    repository = Repository(tmp_path / "work")
    (repository.root / ".gitignore").write_text("ignored\n")
    (repository.root / "ignored").write_text("kept all the same\n")
    (repository.root / "base").write_text("staged\n")
    repository.git("add", "base")
    (repository.root / "base").write_text("not staged\n")
    return repository


@pytest.mark.parametrize(
    "commands",
    [
        ["commit -q -a -m more"],
        ["reset -q --hard main"],
        ["stash -q -u"],
        ["stash -q", "rebase -q main", "stash pop"],
        ["commit -q -a -m more", "rebase -q main", "branch -D main"],
        ["clean -q -d -f -x", "checkout -q -f main"],
        ["config core.pager evil", "tag -m t release", "branch -m topic other"],
        ["reset -q --hard", "gc -q --prune=now", "reflog expire --all --expire=now"],
        ["update-ref -d refs/heads/main", "reflog expire --all --expire=now", "gc -q --prune=now"],
    ],
)
def test_a_restore_undoes_it_with_index_refs_and_stash(
    commands: list[str], repository: Repository, tmp_path: Path
) -> None:
    snapshots = Snapshots(tmp_path / "store")
    before = repository.state()
    snapshot = snapshots.take(repository.root)
    for command in commands:
        repository.git(*command.split())
    after = repository.state()
    assert after != before
    report = snapshots.restore(snapshot, repository.root)
    assert repository.state() == before
    assert report.before is not None
    snapshots.restore(report.before, repository.root)
    assert repository.state() == after
    snapshots.close()


def test_objects_are_only_added(repository: Repository, tmp_path: Path) -> None:
    snapshots = Snapshots(tmp_path / "store")
    snapshot = snapshots.take(repository.root)
    repository.git("commit", "-q", "-a", "-m", "more")
    commit = repository.git("rev-parse", "HEAD").strip()
    changes = snapshots.diff(snapshot, snapshots.take(repository.root))
    assert all(object_store(change.raw) is None for change in changes)
    snapshots.restore(snapshot, repository.root)
    assert repository.git("log", "-1", "--format=%s", commit) == "more\n"
    assert snapshots.plan(snapshot, repository.root) == []
    snapshots.close()


def test_lost_objects_come_back(repository: Repository, tmp_path: Path) -> None:
    snapshots = Snapshots(tmp_path / "store")
    before = repository.state()
    snapshot = snapshots.take(repository.root)
    shutil.rmtree(repository.root / ".git/objects")
    snapshots.restore(snapshot, repository.root)
    assert repository.state() == before
    snapshots.close()


def test_a_planted_hook_and_a_removed_repository_are_undone(
    repository: Repository, tmp_path: Path
) -> None:
    snapshots = Snapshots(tmp_path / "store")
    before = describe(repository.root)
    snapshot = snapshots.take(repository.root)
    (repository.root / ".git/hooks/post-checkout").write_text("#!/bin/sh\nevil\n")
    snapshots.restore(snapshot, repository.root)
    assert describe(repository.root) == before
    shutil.rmtree(repository.root / ".git")
    snapshots.restore(snapshot, repository.root)
    assert describe(repository.root) == before
    snapshots.close()


def test_nested_repositories_are_files_and_new_ones_go_as_a_whole(
    repository: Repository, tmp_path: Path
) -> None:
    snapshots = Snapshots(tmp_path / "store")
    Repository(repository.root / "nested")
    before = describe(repository.root)
    snapshot = snapshots.take(repository.root)
    shutil.rmtree(repository.root / "nested/.git")
    Repository(repository.root / "made")
    snapshots.restore(snapshot, repository.root)
    assert describe(repository.root) == before
    snapshots.close()


def test_a_branch_holds_a_whole_repository_of_its_own(
    repository: Repository, tmp_path: Path
) -> None:
    snapshots = Snapshots(tmp_path / "store")
    before = repository.state()
    snapshot = snapshots.take(repository.root)
    snapshots.extract(snapshot, tmp_path / "branch")
    repository.root.rename(tmp_path / "away")
    (tmp_path / "branch").rename(repository.root)
    assert repository.state() == before
    repository.git("commit", "-q", "-a", "-m", "more")
    snapshots.close()


def test_only_object_stores_count_as_object_stores() -> None:
    assert object_store(b".git/objects/ab/cd") == b".git/objects"
    assert object_store(b"a/.git/modules/m/objects/pack") == b"a/.git/modules/m/objects"
    assert object_store(b".git/lfs/objects") == b".git/lfs/objects"
    assert object_store(b".git/refs/heads/objects/x") is None
    assert object_store(b".git/logs/refs/heads/objects") is None
    assert object_store(b"src/objects/a") is None
    assert object_store(b".git/HEAD") is None
