from pathlib import Path

import pytest
from cli_support import DONE, EDIT, Headway, Script, call


def test_an_unchanged_headway_replays_a_thread_as_recorded(headway: Headway, otter: Path) -> None:
    (otter / "a.txt").write_text("changed since\n")
    done = headway("replay", "otter", "--check")
    assert (done.code, done.out) == (0, "6 messages of otter came out as recorded\n")
    assert (otter / "a.txt").read_text() == "changed since\n"
    assert headway("replay", "otter", "--json").json["divergence"] is None


def test_rejected_answers_and_long_outputs_replay_too(
    headway: Headway, script: Script, workspace: Path
) -> None:
    replies = [
        {"content": "Done."},
        call("bash", command="seq 1 20000"),
        EDIT,
        {"content": "Done now."},
        DONE,
    ]
    place = ("-C", str(workspace), "--thread", "otter", "--model", script(replies))
    assert headway("run", "x", *place, "--check", "grep -q bye a.txt").code == 0
    assert headway("resume", "otter", "more").code == 0
    assert headway("replay", "otter", "--check").code == 0


def test_another_graph_is_found_at_its_first_difference(
    headway: Headway, otter: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("headway.observe.shorten", lambda whole, **_: "other words")
    done = headway("replay", "otter", "--check")
    assert done.code == 1
    assert "otter diverged: message 2: content differs" in done.out
    assert headway("replay", "otter").code == 0
