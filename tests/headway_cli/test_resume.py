from pathlib import Path

import pytest
from cli_support import DONE, EDIT, Done, Headway, Script, call


def paused(headway: Headway, model: str, workspace: Path) -> Done:
    place = ("-C", str(workspace), "--thread", "otter")
    return headway("run", "make it bye", *place, "--model", model, "--ask", "edits")


def test_approve_carries_out_what_waits(headway: Headway, script: Script, workspace: Path) -> None:
    waits = paused(headway, script([EDIT, DONE]), workspace)
    assert waits.code == 6
    assert "waits      edit a.txt\n    -hello\n    +bye\n" in waits.out
    assert (workspace / "a.txt").read_text() == "hello\nworld\n"
    done = headway("resume", "otter", "--approve", "--json")
    assert (done.code, done.json["answer"]) == (0, "Changed.")
    assert (workspace / "a.txt").read_text() == "bye\nworld\n"


def test_reject_runs_nothing_and_the_model_reads_why(
    headway: Headway, script: Script, workspace: Path
) -> None:
    paused(headway, script([EDIT, {"content": "Left it."}]), workspace)
    done = headway("resume", "otter", "--reject", "not this file", "--json")
    assert (done.code, done.json["answer"]) == (0, "Left it.")
    assert "not this file" in done.json["steps"][0]["observation"]
    assert (workspace / "a.txt").read_text() == "hello\nworld\n"


def test_a_message_drops_what_waits(headway: Headway, script: Script, workspace: Path) -> None:
    paused(headway, script([EDIT, {"content": "As you wish."}]), workspace)
    done = headway("resume", "otter", "leave it", "--json")
    assert (done.code, done.json["answer"]) == (0, "As you wish.")
    assert (workspace / "a.txt").read_text() == "hello\nworld\n"


def test_a_question_waits_for_its_answer(headway: Headway, script: Script, workspace: Path) -> None:
    model = script([call("ask_user", question="Which file?"), {"content": "Thank you."}])
    waits = paused(headway, model, workspace)
    assert waits.code == 6
    assert "waits      ask_user Which file?" in waits.out
    done = headway("resume", "otter", "--answer", "the second", "--json")
    assert (done.code, done.json["answer"]) == (0, "Thank you.")
    assert "the second" in done.json["steps"][0]["observation"]


BOTH = {
    "tool_calls": [
        {"name": "bash", "args": {"command": "echo one > one.txt"}},
        {"name": "ask_user", "args": {"question": "Which file?"}},
    ]
}


def test_a_call_and_a_question_are_decided_together(
    headway: Headway, script: Script, workspace: Path
) -> None:
    waits = paused(headway, script([BOTH, {"content": "Thank you."}]), workspace)
    assert 'resume otter --approve --answer "text"   (or --reject "why")' in waits.out
    missing = headway("resume", "otter", "--approve")
    assert (missing.code, missing.out) == (2, "")
    assert "--answer TEXT, too" in missing.err
    missing = headway("resume", "otter", "--answer", "this")
    assert (missing.code, missing.out) == (2, "")
    assert "--approve or --reject WHY, too" in missing.err
    done = headway("resume", "otter", "--approve", "--answer", "this", "--json")
    assert (done.code, done.json["answer"]) == (0, "Thank you.")
    assert (workspace / "one.txt").read_text() == "one\n"
    assert "this" in done.json["steps"][1]["observation"]


def test_one_rejection_is_for_all_that_waits(
    headway: Headway, script: Script, workspace: Path
) -> None:
    paused(headway, script([BOTH, {"content": "As you wish."}]), workspace)
    done = headway("resume", "otter", "--reject", "neither", "--json")
    assert (done.code, done.json["answer"]) == (0, "As you wish.")
    assert all("neither" in done.json["steps"][place]["observation"] for place in (0, 1))
    assert not (workspace / "one.txt").exists()


def test_json_names_what_waits(headway: Headway, script: Script, workspace: Path) -> None:
    place = ("-C", str(workspace), "--thread", "otter", "--model", script([BOTH]))
    waits = headway("run", "x", *place, "--ask", "edits", "--json")
    assert (waits.code, waits.json["status"]) == (6, "needs_approval")
    asked = waits.json["pending"][0]
    assert [action["name"] for action in asked["action_requests"]] == ["bash", "ask_user"]
    assert [config["allowed_decisions"] for config in asked["review_configs"]] == [
        ["approve", "edit", "reject"], ["respond"],
    ]  # fmt: skip
    assert waits.json["files"] == []


def test_without_a_decision_it_waits_on(headway: Headway, script: Script, workspace: Path) -> None:
    paused(headway, script([EDIT, DONE]), workspace)
    assert headway("resume", "otter").code == 6
    assert headway("resume", "otter", "--approve").code == 0


def test_a_raised_limit_goes_on_where_it_stopped(
    headway: Headway, script: Script, workspace: Path
) -> None:
    steps = [call("bash", command=f"echo {n}") for n in range(3)]
    model = script([*steps, DONE, {"content": "All of it."}])
    place = ("-C", str(workspace), "--thread", "otter", "--model", model)
    stopped = headway("run", "count", *place, "--limit", "model_calls=2", "--json")
    assert (stopped.code, stopped.json["limit"]) == (4, "model_calls")
    done = headway("resume", "otter", "--limit", "model_calls=9", "--json")
    assert (done.code, done.json["status"]) == (0, "completed")
    assert done.json["limits"]["model_calls"] == 9


def test_a_new_message_is_a_new_run_with_the_threads_own_settings(
    headway: Headway, script: Script, workspace: Path
) -> None:
    model = script([DONE, EDIT, {"content": "And that."}])
    headway("run", "x", "-C", str(workspace), "--model", model, "--protect", "a.txt")
    done = headway("resume", "-", "more", "--json")
    assert (done.code, done.json["answer"]) == (0, "And that.")
    assert done.json["files"] == []
    assert done.json["usage"]["model_calls"] == 2


@pytest.mark.parametrize(
    ("argv", "said"),
    [
        (("otter",), "thread otter is completed: to go on, give it a message"),
        (("otter", "--approve"), "nothing waits"),
        (("otter", "--answer", "x"), "nothing waits"),
        (("otter", "and more", "--approve"), "a message or a decision"),
        (("otter", "--limit", "turns=1"), "--limit has no 'turns'"),
    ],
)
def test_wrong_use_is_one_line(
    headway: Headway, script: Script, workspace: Path, argv: tuple[str, ...], said: str
) -> None:
    place = ("-C", str(workspace), "--thread", "otter")
    headway("run", "x", *place, "--model", script([DONE]))
    done = headway("resume", *argv)
    assert (done.code, done.out) == (2, "")
    assert said in done.err
