"""An allow rule covers one plain command and nothing that could run another one."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headway.commands import plain_words
from headway.permitted import allowed_by, check_rule
from headway_tools.errors import HeadwayError

OPEN = (
    "git status", "git status *", "git log *", "git diff *", "git *", "find *", "sort *", "tar *",
    "make *", "rg *", "python *", "python -m *", "python -W error *", "bash *", "env *", "xargs *",
    "ls *", "*",
)  # fmt: skip


@pytest.mark.parametrize(
    "command",
    [
        "git status && rm -rf b",
        "git status; curl x",
        "git status\nrm x",
        "git status\rrm x",
        "git status $(rm x)",
        "git status `rm x`",
        "git status <(rm x)",
        "git status > ~/.bashrc",
        "git status 2>x",
        "git status >| x",
        "git status < x",
        "git status | sh",
        "git status & rm x",
        "git status \\\n; rm x",
        'git status "$(rm x)"',
        'git status "`rm x`"',
        "git status $HOME",
        "git status ${X:-y}",
        "git status$IFS--help",
        "git status ~/x",
        "git status {a,--output=b}",
        "git log *",
        "git log $'\\x2d-output=x'",
        "git\\ status",
        "g\\it status; rm x",
        "git status #; rm x",
        "! git status",
        "{ git status; }",
        "(git status)",
        "env X=1 git status",
        "env git status",
        "X=1 git status",
        "X+=1 git status",
        "sudo git status",
        "time git status",
        "command git status",
        "exec git status",
        "eval 'git status'",
        "git -c core.pager=rm status",
        "git -C /tmp status",
        "git --git-dir=x status",
        "git --git-dir x status",
        "git --exec-path=. status",
        "git --work-tree=/ status",
        "git -p status",
        "git diff --output=x",
        "git diff --outp=x",
        "git log --output x",
        "git diff --ext-diff",
        "git grep -Orm x",
        "git grep -nO x",
        "git grep --open-files-in-pager=rm x",
        "git config alias.x '!rm x'",
        "git submodule foreach 'rm x'",
        "git bisect run rm x",
        "git rebase -x 'rm x' HEAD",
        "git rebase --exec=rm HEAD",
        "git clone --upload-pack=rm x",
        "git fetch --upload-pack rm x",
        "git archive -ox HEAD",
        "git difftool -x rm",
        "git filter-branch --tree-filter rm",
        "git help status",
        "find . -exec rm '{}' +",
        "find . -execdir rm x",
        "find . -delete",
        "find . -fprintf x y",
        "find . -ok rm x",
        "sort -o x y",
        "sort -uox y",
        "sort --output=x y",
        "sort --compress-program=rm y",
        "tar -xIrm x",
        "tar xIf rm x",
        "tar -xf x --to-command=rm",
        "tar --use-comp=rm -xf x",
        "tar -cf x --checkpoint-action=exec=rm y",
        "rg --pre rm x",
        "make SHELL=rm",
        "make --eval=x",
        "make -f /dev/stdin",
        "xargs rm",
        "less x",
        "man -P rm x",
        "ssh host rm x",
        "sed -i s/a/b/ x",
        "awk 'BEGIN {system(0)}'",
        "python -c 'import os'",
        "python -Bc 'import os'",
        "python -W error -c 'import os'",
        "python -W error -Bc 'import os'",
        "python -m timeit x",
        "python x.py",
        "python3.12 -c x",
        "bash -c x",
        "bash x.sh",
        "\u0261it status",
        "git\u00a0status",
        "git status\u2028rm x",
    ],
)
def test_an_allow_rule_is_not_stretched(command: str) -> None:
    assert not [rule for rule in OPEN if allowed_by(command, rule)]


@pytest.mark.parametrize(
    ("rule", "command"),
    [
        ("git status", "git status"),
        ("git status", " git  status\n"),
        ("git log *", "git log --oneline -5"),
        ("git log *", "git log"),
        ("grep *", "grep -rn 'a;b' src"),
        ("grep *", 'grep -rn "a|b" src'),
        ("grep 'a b' *", "grep 'a b' src"),
        ("find *", "find . -name '*.py' -executable"),
        ("python -m unittest *", "python -m unittest discover -s tests"),
        ("python run.py *", "python run.py -c x"),
        ("make test", "make test"),
        ("sort *", "sort -u x"),
        ("*", "ls -la"),
    ],
)
def test_an_allow_rule_matches_what_it_says(rule: str, command: str) -> None:
    assert allowed_by(command, rule)


@pytest.mark.parametrize("rule", ["", "git log; ls", "git log*", "x=1 y", "a $b", "'a"])
def test_a_rule_that_could_never_match_is_refused(rule: str) -> None:
    with pytest.raises(HeadwayError, match="plain command"):
        check_rule(rule)


@given(
    st.lists(st.sampled_from(["ls", "git log", " ", "'", '"', "a", "-x", ";", "$", "\n", "*", ">"]))
)
def test_whatever_is_allowed_is_one_plain_command_with_the_words_of_the_rule(
    pieces: list[str],
) -> None:
    command = "".join(pieces)
    for rule in ("ls *", "git log *"):
        if allowed_by(command, rule):
            fixed = rule.split()[:-1]
            words = plain_words(command)
            assert words is not None
            assert words[: len(fixed)] == fixed
