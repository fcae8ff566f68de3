"""Allow rules match one plain command only; destructive commands are found wherever they hide."""

import pytest

from headway.approvals import allows, must_ask
from headway.commands import destructive


@pytest.mark.parametrize(
    "command",
    [
        "git status && rm -rf b",
        "git status; curl x",
        "git status\nrm x",
        "git status $(rm x)",
        "git status `rm x`",
        "git status > ~/.bashrc",
        "git status | sh",
        "git status & rm x",
        "env X=1 git status",
        "X=1 git status",
        "git -c core.pager=rm status",
        "git status $HOME",
        "find . -exec rm {} +",
        "python -c 'import os'",
        "sudo git status",
        "git status \\\n; rm x",
        'git status "$(rm x)"',
    ],
)
def test_an_allow_rule_is_not_stretched(command: str) -> None:
    rules = ["bash(git status)", "bash(git status *)", "bash(git *)", "bash(find *)", "bash(env *)"]
    assert not any(allows(rule, "bash", {"command": command}) for rule in rules)


@pytest.mark.parametrize(
    ("rule", "command"),
    [
        ("bash(git status)", "git status"),
        ("bash(git log *)", "git log --oneline -5"),
        ("bash(grep *)", "grep -rn 'a;b' src"),
        ("bash(python -m unittest *)", "python -m unittest discover -s tests"),
        ("bash", "anything; at all"),
    ],
)
def test_an_allow_rule_matches_what_it_says(rule: str, command: str) -> None:
    assert allows(rule, "bash", {"command": command})


def test_a_rule_for_paths_stays_beneath_its_folder() -> None:
    assert allows("edit(docs/**)", "edit", {"path": "docs/a/b.md"})
    assert not allows("edit(docs/**)", "edit", {"path": "docs/../src/a.py"})
    assert not allows("edit(docs/**)", "edit", {"path": "/docs/a.md"})
    assert not allows("edit(docs/**)", "bash", {"command": "ls docs/a"})


@pytest.mark.parametrize(
    "command",
    [
        "git reset --hard",
        "git -C . checkout -- .",
        "git checkout .",
        "git restore .",
        "git restore --staged --worktree a",
        "git clean -fdx",
        "git stash && git stash drop",
        "git push --force origin main",
        "git push origin +main",
        "git branch -D topic",
        "rm -rf src",
        "rm -r -f ../x",
        "cd a && rm -rf .",
        "ls; sudo rm -rf /",
        "env X=1 git reset --hard",
        "bash -c 'git clean -fd'",
        "find . -name '*.py' -delete",
        "find . -exec rm {} +",
        "ls | xargs rm -rf",
        "echo $(git reset --hard)",
        "timeout 5 git clean -f",
        "dd if=/dev/zero of=a.img",
        "truncate -s 0 data.db",
        "/bin/rm -rf src",
    ],
)
def test_destructive_commands_are_found(command: str) -> None:
    assert destructive(command)


@pytest.mark.parametrize(
    "command",
    [
        "git status",
        "git stash",
        "git checkout -b topic",
        "git restore --staged a",
        "git push origin main",
        "rm a.txt",
        "rm -rf build node_modules/.cache",
        "rm -rf /tmp/x",
        "echo 'git reset --hard'",
        "grep -rn 'rm -rf' .",
        "python -m unittest",
        "git log --grep 'reset --hard'",
    ],
)
def test_ordinary_commands_are_not(command: str) -> None:
    assert destructive(command) is None


def test_destructive_commands_are_asked_about_only_where_somebody_answers() -> None:
    def ask(interactive: bool, allow: tuple[str, ...] = ()) -> bool:
        return must_ask(
            "bash", {"command": "git reset --hard"}, kind="write", ask="never", allow=allow,
            interactive=interactive,
        )  # fmt: skip

    assert ask(True)
    assert not ask(False)
    assert not ask(True, ("bash(git reset --hard)",))
