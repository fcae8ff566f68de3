"""Commands that destroy work are found wherever they hide; ordinary ones are left alone."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headway.destructive import destructive

BAD = (
    "git reset --hard",
    "git reset --har HEAD~1",
    "git -C . checkout -- .",
    "git --git-dir=.git --work-tree=. checkout -f",
    "git --git-dir .git reset --hard",
    "git checkout .",
    "git checkout HEAD -- f",
    "git checkout HEAD f",
    "git checkout README.md",
    "git checkout src/",
    "git checkout -B main",
    "git checkout -p",
    "git switch --discard-changes main",
    "git switch -C main",
    "git restore .",
    "git restore --source HEAD f",
    "git restore --staged --worktree a",
    "git restore -SW a",
    "git clean -fdx",
    "git clean --force",
    "git stash drop",
    "git stash clear",
    "git push --force origin main",
    "git push --forc origin main",
    "git push -fu origin main",
    "git push --force-with-lease origin main",
    "git push origin +main",
    "git push origin :main",
    "git push --delete origin main",
    "git push --mirror",
    "git branch -D topic",
    "git branch -qD topic",
    "git tag -d v1",
    "git rm -rf src",
    "git worktree remove --force x",
    "git merge --abort",
    "git rebase --skip",
    "git reflog expire --expire=now --all",
    "git gc --prune=now",
    "git prune",
    "git update-ref -d refs/heads/x",
    "git filter-branch --all",
    "git read-tree --reset -u HEAD",
    "git checkout-index -fa",
    "git -c alias.x='!rm -rf .' x",
    "rm -rf src",
    "rm -r -f ../x",
    "rm --recursive src",
    "rm --recur src",
    "rm -fR src",
    "rm *.py",
    "rm -rf build src",
    "rm -rf build/../src",
    "rm -rf $DIR",
    "/bin/rm -rf src",
    "find . -name '*.py' -delete",
    "find . -exec rm '{}' +",
    "find . -type f -exec git checkout '{}' +",
    "ls | xargs rm",
    "ls | xargs -I {} rm -rf {}",
    "ls | xargs -n 1 -P 4 rm -rf",
    "rsync -a --delete a/ b/",
    "tar -cf x --remove-files src",
    "dd if=/dev/zero of=a.img",
    "truncate -s 0 data.db",
    "shred -u x",
    "mkfs.ext4 disk.img",
)

HIDDEN = (
    "{}", "ls; {}", "ls && {}", "ls || {}", "ls | {}", "ls & {}", "ls\n{}", "cd a && {}", "( {} )",
    "sudo -u root {}", "env -u X Y=1 {}", "X=1 {}", "timeout -s KILL 5 {}", "nice -n 5 {}",
    "if {}; then ls; fi", "for f in a; do {}; done", "while {}; do ls; done", "! {}", "f() { {}; }",
    "echo $({})", 'echo "$({})"', 'echo "$(cd x; ({}))"', "echo `{}`", "cat <({})",
    "echo 'unbalanced\n{}", "cat <<E\nit's\nE\n{}",
)  # fmt: skip


@pytest.mark.parametrize("command", BAD)
def test_destructive_commands_are_found(command: str) -> None:
    assert destructive(command)


@pytest.mark.parametrize("place", HIDDEN)
@pytest.mark.parametrize("command", ["git reset --hard", "rm -rf src", "git checkout -- a"])
def test_they_are_found_wherever_they_hide(command: str, place: str) -> None:
    assert destructive(place.replace("{}", command, 1))


@pytest.mark.parametrize(
    "command",
    [
        "bash -c 'git clean -fd'",
        "bash -lc 'git clean -fd'",
        "sh -ec 'cd x; sh -c \"rm -rf src\"'",
        "eval 'git reset --hard'",
        "eval git reset --hard",
        "su -c 'rm -rf src'",
        "watch 'git reset --hard'",
        "trap 'git reset --hard' EXIT",
        "'rm' -rf src",
        "r\\m -rf src",
        "r''m -rf src",
        "git \\\n  reset --hard",
        "git reset \\\n--hard",
        "{rm,-rf,src}",
        "rm$IFS-rf${IFS}src",
        "git 'reset' --hard",
    ],
)
def test_spelling_hides_nothing(command: str) -> None:
    assert destructive(command)


@pytest.mark.parametrize(
    "command",
    [
        "git status",
        "git stash",
        "git stash pop",
        "git commit --amend -m x",
        "git checkout topic",
        "git checkout feature/x",
        "git checkout v1.2",
        "git checkout -",
        "git checkout -b topic",
        "git checkout -b topic origin/main",
        "git switch topic",
        "git switch -c topic",
        "git restore --staged a",
        "git push origin main",
        "git push -u origin topic",
        "git reset HEAD a",
        "git rm a",
        "git rm -r src",
        "git tag v1",
        "git branch -d topic",
        "git rebase main",
        "rm a.txt",
        "rm -f a.txt",
        "rm -rf build node_modules/.cache",
        "rm -rf ./dist/",
        "rm -f src/*.pyc",
        "rm -rf /tmp/x",
        "mv a b",
        "cp -f a b",
        "sed -i s/a/b/ x",
        "echo x > a",
        "find . -name '*.py'",
        "ls | xargs cat",
        "echo 'git reset --hard'",
        "grep -rn 'rm -rf' .",
        "python -m unittest",
        "git log --grep 'reset --hard'",
        "tar -xf x.tar",
        "dd if=a count=1",
    ],
)
def test_ordinary_commands_are_not(command: str) -> None:
    assert destructive(command) is None


def test_a_lone_word_after_checkout_is_a_path_where_the_workspace_has_one() -> None:
    assert destructive("git checkout src", {"src"}.__contains__)
    assert destructive("git checkout src", {"lib"}.__contains__) is None


@given(st.text(max_size=40), st.sampled_from(["; ", "\n", " && "]))
def test_no_text_before_it_hides_a_line(before: str, between: str) -> None:
    assert destructive("ls" + between + "git reset --hard")
    if not set(before) & set("'\"\\#$`"):
        assert destructive(f"{before}{between}git reset --hard")
