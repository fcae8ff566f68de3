"""fork, diff, restore, rm and prune over real threads and files."""

from pathlib import Path

import pytest
from cli_support import DONE, EDIT, Headway, Script, call

from headway_debugger.copies import make_copy
from headway_tools.home import Home


def step_of(headway: Headway, node: str, nth: int = 0) -> str:
    """The name of the nth step that `node` wrote."""
    steps = headway("show", "otter", "--json").json["branches"]["main"]["steps"]
    return str([step["step"] for step in steps if step["written_by"] == [node]][nth])


def test_a_fork_runs_on_files_of_its_own_and_the_original_stays(
    headway: Headway, otter: Path, script: Script
) -> None:
    other = script([{}, call("bash", command="cat a.txt; echo branch > b.txt"), {"content": "B"}])
    at = f"otter@{step_of(headway, 'truncate')}"
    done = headway("fork", at, "--run", "--model", other, "--json")
    assert (done.code, done.json["answer"]) == (0, "B")
    assert '"stdout": "bye\\nworld\\n"' in done.json["steps"][1]["observation"]
    assert done.json["workspace"] == str(otter)
    assert sorted(path.name for path in otter.iterdir()) == ["a.txt", "new.txt"]
    assert set(headway("show", "otter", "--json").json["branches"]) == {"main", "b2"}


def test_a_fork_can_change_history_and_names_what_it_can(headway: Headway, otter: Path) -> None:
    at = f"otter@{step_of(headway, 'truncate')}"
    made = headway("fork", at, "--name", "try", "--set", "result=nothing there")
    assert made.out.startswith("otter@try from step ")
    assert "nothing there" in headway("show", "otter@try", "--state").out
    assert "nothing there" not in headway("show", at, "--state").out
    refused = headway("fork", at, "--set", "colour=red")
    assert (refused.code, refused.out) == (2, "")
    assert "--set takes task=TEXT" in refused.err
    assert headway("fork", at, "--name", "try").code == 2


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ("limit:model_calls=x", "model_calls takes a whole number above 0 (it cannot be off)"),
        ("limit:calls=3", "--set limit has no 'calls'; it has model_calls"),
        ("model=opnai:m", "did you mean openai:m?"),
        ("model=scripted:/nope", "cannot read the script /nope"),
    ],
)
def test_a_setting_of_a_fork_is_checked_as_a_flag_is(
    headway: Headway, otter: Path, change: str, words: str
) -> None:
    at = f"otter@{step_of(headway, 'truncate')}"
    refused = headway("fork", at, "--set", change)
    assert (refused.code, refused.out) == (2, "")
    assert words in refused.err
    assert refused.err.count("\n") == 1
    assert set(headway("show", "otter", "--json").json["branches"]) == {"main"}


def test_without_a_sandbox_a_fork_is_refused_with_the_reason(
    headway: Headway, script: Script, workspace: Path
) -> None:
    place = ("-C", str(workspace), "--thread", "otter", "--sandbox", "none")
    headway("run", "x", *place, "--model", script([{"content": "ok"}]))
    done = headway("fork", "otter@2")
    assert done.code == 2
    assert "only inside the sandbox" in done.err


def test_diff_names_the_first_differing_step(headway: Headway, otter: Path) -> None:
    early, late = step_of(headway, "truncate"), step_of(headway, "truncate", 1)
    text = headway("diff", f"otter@{early}", f"@{late}").out
    assert f"first differing step  (ended before) | {int(early) + 1}" in text
    assert "only in B\n    bash echo made > new.txt\n      exit 0\n" in text
    assert "tokens" not in text
    assert "+made" in text
    assert headway("diff", f"otter@{early}", f"@{early}").out == "no difference\n"


def test_restore_is_previewed_done_and_undone(headway: Headway, otter: Path) -> None:
    at = f"otter@{step_of(headway, 'truncate')}"
    assert headway("restore", at, "--dry-run").out.splitlines()[1:] == [
        "  remove  new.txt",
        "the conversation would be that of step 6",
    ]
    assert (otter / "new.txt").exists()
    assert headway("restore", at).code == 0
    assert not (otter / "new.txt").exists()
    assert headway("undo", "otter").code == 0
    assert (otter / "new.txt").read_text() == "made\n"
    assert headway("undo", "otter").code == 0
    assert (otter / "a.txt").read_text() == "hello\nworld\n"


def test_restores_and_undos_follow_each_other(headway: Headway, otter: Path) -> None:
    first, second = (step_of(headway, "truncate", nth) for nth in (0, 1))
    for target in (first, second, first):
        assert headway("restore", f"otter@{target}").code == 0
    for there in (True, False, True):
        assert headway("undo", "otter").code == 0
        assert (otter / "new.txt").exists() is there
        assert (otter / "a.txt").read_text() == "bye\nworld\n"
    assert headway("undo", "otter").code == 0
    assert (otter / "a.txt").read_text() == "hello\nworld\n"
    assert headway("restore", f"otter@{second}").code == 0
    (otter / "a.txt").write_text("mine\n")
    assert headway("undo", "otter").code == 2
    assert (otter / "a.txt").read_text() == "mine\n"


def test_an_undo_leaves_and_names_what_only_others_changed(headway: Headway, otter: Path) -> None:
    for number in range(7):
        (otter / f"mine{number}").write_text("mine\n")
    told = [
        "  write   a.txt",
        "  remove  new.txt",
        "  left as others changed them: mine0, mine1, mine2, mine3, mine4, …",
    ]
    assert headway("undo", "otter", "--dry-run").out.splitlines()[2:5] == told
    assert headway("undo", "otter").out.splitlines()[2:5] == told
    assert (otter / "a.txt").read_text() == "hello\nworld\n"
    assert sorted(path.name for path in otter.iterdir()) == [
        "a.txt", *(f"mine{number}" for number in range(7))
    ]  # fmt: skip


def test_a_branch_is_undone_in_its_own_folder_and_taken_over_by_restore(
    headway: Headway, otter: Path, script: Script
) -> None:
    other = script([{}, call("bash", command="echo branch > b.txt"), {"content": "B"}])
    at = f"otter@{step_of(headway, 'truncate')}"
    done = headway("fork", at, "--run", "--model", other)
    assert "take over  headway restore otter@b2" in done.out
    assert headway("restore", "otter@b2").code == 0
    assert (otter / "b.txt").read_text() == "branch\n"
    assert not (otter / "new.txt").exists()


def test_resume_goes_on_with_the_branch_that_is_named(
    headway: Headway, otter: Path, script: Script
) -> None:
    other = script([{}, {"content": "on the branch"}, {}, {"content": "on main"}])
    at = f"otter@{step_of(headway, 'truncate')}"
    assert (
        headway("fork", at, "--run", "--model", other, "--json").json["answer"] == "on the branch"
    )
    more = script([{}, {}, {}, call("bash", command="ls > listed"), {"content": "on main"}])
    done = headway("resume", "otter@main", "more", "--model", more, "--json")
    assert (done.code, done.json["answer"]) == (0, "on main")
    assert (otter / "listed").read_text() == "a.txt\nlisted\nnew.txt\n"
    refused = headway("resume", "otter@b9")
    assert refused.code == 2
    assert "it has main, b2" in refused.err


def test_restore_overwrites_later_work_only_when_told(headway: Headway, otter: Path) -> None:
    at = f"otter@{step_of(headway, 'truncate')}"
    (otter / "a.txt").write_text("mine\n")
    assert headway("restore", at).code == 2
    assert (otter / "a.txt").read_text() == "mine\n"
    assert headway("restore", at, "--force").code == 0
    assert (otter / "a.txt").read_text() == "bye\nworld\n"


def test_rm_removes_the_thread_and_leaves_the_workspace(headway: Headway, otter: Path) -> None:
    assert headway("rm", "otter").out == "removed otter\n"
    assert headway("threads").out == ""
    assert headway("show", "otter").code == 2
    assert (otter / "new.txt").exists()


def test_prune_keeps_the_newest_steps_and_the_thread_goes_on(headway: Headway, otter: Path) -> None:
    before = len(headway("show", "otter", "--json").json["branches"]["main"]["steps"])
    assert headway("prune", "otter", "--keep", "3").out.startswith(f"removed {before - 3} steps")
    left = headway("show", "otter", "--json").json["branches"]["main"]["steps"]
    assert len(left) == 3
    assert "make it bye" in headway("show", "otter", "--state").out
    assert headway("undo", "otter").code == 0
    assert (otter / "a.txt").read_text() == "hello\nworld\n"


@pytest.mark.parametrize("verb", ["restore", "fork"])
def test_an_unknown_step_is_one_line(headway: Headway, otter: Path, verb: str) -> None:
    done = headway(verb, "otter@99")
    assert (done.code, done.out) == (2, "")
    assert done.err.count("\n") == 1


def test_a_copy_is_worked_in_and_applied_on_request(
    headway: Headway, script: Script, workspace: Path
) -> None:
    model = script([EDIT, call("bash", command="cat a.txt; pwd"), DONE])
    place = ("-C", str(workspace), "--thread", "otter", "--model", model)
    done = headway("run", "x", *place, "--copy", "--json")
    assert done.json["files"][0]["path"] == "a.txt"
    assert f"bye\\nworld\\n{workspace}" in done.json["steps"][1]["observation"]
    assert (workspace / "a.txt").read_text() == "hello\nworld\n"
    assert headway("apply", "otter", "--dry-run").out.splitlines()[1:] == ["  write   a.txt"]
    assert headway("apply", "otter").code == 0
    assert (workspace / "a.txt").read_text() == "bye\nworld\n"
    assert headway("undo", "otter").code == 0
    assert (workspace / "a.txt").read_text() == "hello\nworld\n"


@pytest.fixture
def copied(headway: Headway, script: Script, workspace: Path) -> Path:
    """A workspace in whose copy thread `otter` changed a.txt, removed b.txt and made c/d.txt."""
    (workspace / "b.txt").write_text("b\n")
    command = "rm b.txt; mkdir c; echo d > c/d.txt"
    again = call("edit", path="a.txt", old_text="bye", new_text="ciao")
    model = script([EDIT, call("bash", command=command), DONE, again, DONE])
    place = ("-C", str(workspace), "--thread", "otter", "--copy", "--model", model)
    assert headway("run", "x", *place).code == 0
    return workspace


def contents(folder: Path) -> dict[str, str]:
    files = [path for path in folder.rglob("*") if path.is_file()]
    return {str(path.relative_to(folder)): path.read_text() for path in files}


BEFORE = {"a.txt": "hello\nworld\n", "b.txt": "b\n"}
AFTER = {"a.txt": "bye\nworld\n", "c/d.txt": "d\n"}


def test_apply_leaves_alone_what_the_copy_did_not_change(headway: Headway, copied: Path) -> None:
    (copied / "mine.txt").write_text("mine\n")
    assert headway("apply", "otter").code == 0
    assert contents(copied) == {**AFTER, "mine.txt": "mine\n"}
    assert "like that already" in headway("apply", "otter").out
    assert headway("undo", "otter").code == 0
    assert contents(copied) == {**BEFORE, "mine.txt": "mine\n"}
    assert headway("apply", "otter").code == 0
    assert contents(copied) == {**AFTER, "mine.txt": "mine\n"}


@pytest.mark.parametrize(
    ("path", "text"), [("a.txt", "mine\n"), ("b.txt", "mine\n"), ("c", "a file\n")]
)
def test_what_both_changed_is_overwritten_only_when_told_and_undone(
    headway: Headway, copied: Path, path: str, text: str
) -> None:
    (copied / path).write_text(text)
    mine = contents(copied)
    assert f"would need --force: {path}" in headway("apply", "otter", "--dry-run").out
    refused = headway("apply", "otter")
    assert (refused.code, refused.out) == (2, "")
    assert path in refused.err
    assert contents(copied) == mine
    assert headway("apply", "otter", "--force").code == 0
    assert contents(copied) == AFTER
    assert headway("undo", "otter").code == 0
    assert contents(copied) == mine


def test_the_same_change_on_both_sides_is_no_conflict(headway: Headway, copied: Path) -> None:
    (copied / "a.txt").write_text(AFTER["a.txt"])
    assert headway("apply", "otter").code == 0
    assert contents(copied) == AFTER


def test_a_copy_that_went_on_is_applied_again(headway: Headway, copied: Path) -> None:
    assert headway("apply", "otter").code == 0
    assert headway("resume", "otter", "more").code == 0
    assert headway("apply", "otter").out.splitlines()[1:] == ["  write   a.txt"]
    assert contents(copied) == {**AFTER, "a.txt": "ciao\nworld\n"}


def test_nothing_to_apply_is_one_line(headway: Headway, otter: Path) -> None:
    done = headway("apply", "otter")
    assert (done.code, done.err.count("\n")) == (2, 1)


def test_a_long_list_is_cut_and_all_of_it_shown_on_request(
    headway: Headway, script: Script, workspace: Path
) -> None:
    said = script([call("bash", command="touch {1..100}"), {"content": "ok"}])
    headway("run", "x", "-C", str(workspace), "--thread", "many", "--model", said)
    short, every = (headway("undo", "many", "--dry-run", *given).out for given in ([], ["--all"]))
    assert short.count("  remove  ") == 30
    assert "\n  … and 70 more; --all names them\n" in short
    assert every.count("  remove  ") == 100


def test_a_fork_without_a_step_says_where_it_begins(headway: Headway, otter: Path) -> None:
    made = headway("fork", "otter")
    assert made.err == "no step named: the branch begins at the newest, otter@12\n"
    assert made.out.startswith("otter@b2 from step 12;")
    assert headway("fork", "otter@6").err == ""


def test_a_refused_run_makes_no_copy(
    headway: Headway, script: Script, workspace: Path, own_home: Path
) -> None:
    said = script([{"content": "ok"}])
    place = ("-C", str(workspace), "--thread", "c", "--copy", "--model", said)
    assert headway("run", "x", *place, "--check", "nosuchprogram").code == 2
    assert not (own_home / "threads" / "c").exists()
    assert headway("run", "x", *place, "--check", "true").code == 0


def test_a_copy_whose_run_never_began_is_made_anew(
    headway: Headway, script: Script, workspace: Path, own_home: Path
) -> None:
    make_copy(Home(own_home), "c", workspace)
    (workspace / "new").touch()
    said = script([call("bash", command="test -e new"), {"content": "ok"}])
    place = ("-C", str(workspace), "--thread", "c", "--copy", "--model", said)
    done = headway("run", "x", *place, "--json")
    assert done.json["commands"][0]["exit_code"] == 0
