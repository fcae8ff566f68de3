"""threads, show and undo over real threads."""

import re
from pathlib import Path
from typing import Any

import pytest
from cli_support import Headway, Script, call


def test_threads_lists_name_status_and_task(headway: Headway, otter: Path) -> None:
    assert headway("threads").out.startswith("otter  completed ")
    [row] = headway("threads", "--json").json["threads"]
    assert (row["thread"], row["status"], row["task"]) == ("otter", "completed", "make it bye")


def test_no_thread_names_a_command_that_makes_one(headway: Headway) -> None:
    done = headway("threads")
    assert (done.code, done.out) == (0, "")
    assert "headway demo" in done.err


def test_show_lists_every_step_of_the_thread(headway: Headway, otter: Path) -> None:
    text = headway("show", "ott").out
    assert "task       make it bye" in text
    for node in ("enter", "agent", "tools", "progress", "truncate", "verify"):
        assert f"  {node} " in text
    steps = headway("show", "otter", "--json").json["branches"]["main"]["steps"]
    assert [step["written_by"] for step in steps].count(["agent"]) == 3


def test_show_step_is_what_it_wrote(headway: Headway, otter: Path) -> None:
    steps = headway("show", "otter", "--json").json["branches"]["main"]["steps"]
    first = next(step["step"] for step in steps if step["written_by"] == ["agent"])
    assert '"old_text": "hello"' in headway("show", f"otter@{first}").out
    tools = next(step["step"] for step in steps if step["written_by"] == ["tools"])
    assert "-hello\n+bye" in headway("show", f"otter@{tools}", "--files").out
    shown = headway("show", f"otter@{tools}").out
    assert '"old_text": "hello"' in shown
    assert '"lines_removed": 1' in shown
    assert shown.endswith("changed  a.txt\n")
    assert '"content": "make it bye"' in headway("show", f"otter@{first}", "--request").out
    assert '"outcome"' in headway("show", "otter", "--state").out
    assert headway("show", f"otter@{first}", "--files").out.endswith("changed no file\n")


def test_show_graph_is_mermaid(headway: Headway, otter: Path) -> None:
    assert "agent -.-> tools;" in headway("show", "otter", "--graph").out


def test_show_json_is_the_step_and_the_view_that_was_asked_for(
    headway: Headway, otter: Path
) -> None:
    def shown(*argv: str) -> dict[str, Any]:
        done = headway("show", *argv, "--json")
        assert done.code == 0
        assert (done.json["schema_version"], done.json["thread"]) == (1, "otter")
        assert done.out.count("\n") == 1
        return dict(done.json)

    steps = shown("otter")["branches"]["main"]["steps"]
    tools = next(step for step in steps if step["written_by"] == ["tools"])
    at = f"otter@{tools['step']}"
    step = shown(at)
    assert step.items() >= tools.items()
    assert step["files"] == [{"path": "a.txt", "kind": "changed"}]
    [result] = step["results"]
    assert (result["call"]["name"], result["status"]) == ("edit", "success")
    assert "-hello\n+bye" in shown(at, "--files")["patch"]
    assert shown(at, "--state")["state"]["messages"][0]["type"] == "human"
    assert shown("otter", "--request")["request"]["messages"][1]["content"] == "make it bye"
    assert "agent -.-> tools;" in shown("otter", "--graph")["graph"]
    assert shown("otter", "--state")["step"] == steps[-1]["step"]


@pytest.mark.parametrize("view", ["--json", "--graph", "--files", "--state", "--request"])
@pytest.mark.parametrize("step", ["99", "nonsense"])
def test_an_unknown_step_is_wrong_use_in_every_view(
    headway: Headway, otter: Path, view: str, step: str
) -> None:
    done = headway("show", f"otter@{step}", view)
    assert (done.code, done.out) == (2, "")
    assert f"no step {step}" in done.err


def test_an_unknown_step_is_one_line(headway: Headway, otter: Path) -> None:
    done = headway("show", "otter@99")
    assert (done.code, done.out) == (2, "")
    assert done.err.count("\n") == 1


def test_undo_puts_the_files_back_and_can_say_so_first(headway: Headway, otter: Path) -> None:
    preview = headway("undo", "otter", "--dry-run")
    assert preview.out.splitlines() == [
        "would take back the last run on main",
        f"would put back in {otter}:",
        "  write   a.txt",
        "  remove  new.txt",
        "the conversation would be that of step 0",
    ]
    assert (otter / "new.txt").exists()
    assert headway("undo", "otter").code == 0
    assert (otter / "a.txt").read_text() == "hello\nworld\n"
    assert sorted(path.name for path in otter.iterdir()) == ["a.txt"]
    nothing = headway("undo", "otter")
    assert (nothing.code, nothing.err.count("\n")) == (2, 1)
    assert "nothing to undo" in nothing.err


def test_undo_overwrites_later_work_only_when_told(headway: Headway, otter: Path) -> None:
    (otter / "a.txt").write_text("mine\n")
    refused = headway("undo", "otter")
    assert refused.code == 2
    assert "a.txt" in refused.err
    assert (otter / "a.txt").read_text() == "mine\n"
    assert headway("undo", "otter", "--force").code == 0
    assert (otter / "a.txt").read_text() == "hello\nworld\n"


def test_show_marks_the_current_branch_and_says_how_it_stands_in_one_word(
    headway: Headway, otter: Path
) -> None:
    assert "\nmain\n" in headway("show", "otter").out
    headway("fork", "otter@6")
    text = headway("show", "otter").out
    assert "\nstatus     forked\n" in text
    assert "\nb2 (from 6), the current branch\n" in text
    assert re.search(r"^  b2\.7  truncate +copied  forked$", text, re.MULTILINE)
    headway("undo", "otter")
    headway("undo", "otter")
    text = headway("show", "otter").out
    assert "\nstatus     undone\n" in text
    assert re.search(r"^b3 \(from 0\), the current branch\n  b3\.1 .*  undone$", text, re.MULTILINE)
    assert re.search(r"^b2 \(from 6\)\n  b2\.7 .*  unfinished$", text, re.MULTILINE)
    assert headway("show", "otter", "--json").json["current"] == "b3"


def test_a_row_says_what_came_back_in_short_and_is_cut_in_a_pipe_too(
    headway: Headway, script: Script, workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("COLUMNS", raising=False)
    said = script([call("bash", command=f"echo {'x' * 300}"), {"content": "y" * 300}])
    headway("run", "x", "-C", str(workspace), "--thread", "long", "--model", said)
    lines = headway("show", "long").out.splitlines()
    assert max(map(len, lines)) == 160
    assert any("bash: exit 0" in line for line in lines)


def test_without_a_name_c_says_whose_newest_thread_is_meant(
    headway: Headway, otter: Path, script: Script, tmp_path: Path
) -> None:
    (tmp_path / "other").mkdir()
    place = ("-C", str(tmp_path / "other"), "--thread", "later")
    headway("run", "x", *place, "--model", script([{"content": "ok"}]))
    assert headway("show", "-C", str(otter)).out.startswith("thread     otter\n")
    assert headway("show", *place[:2]).out.startswith("thread     later\n")
    assert "would put back" in headway("undo", "-C", str(otter), "--dry-run").out
    assert headway("rm", "-", "-C", str(otter)).out == "removed otter\n"
    assert headway("show", "-C", str(tmp_path / "none")).code == 2


def test_a_narrow_terminal_wraps_rows_and_loses_no_task_call_or_date(
    headway: Headway, otter: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "30")
    assert re.search(
        r"otter  completed +\d{4}-\d\d-\d\d \d\d:\d\d  make it bye", headway("threads").out
    )
    assert re.search(r"agent .* edit a\.txt$", headway("show", "otter").out, re.MULTILINE)
