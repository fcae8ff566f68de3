"""`--protocol`: a model that only writes text does the same work, and a thread can change over."""

import json
from pathlib import Path

from cli_support import DONE, EDIT, Headway, Script


def test_a_run_in_text_and_its_continuation_with_tool_calls(
    headway: Headway, script: Script, workspace: Path
) -> None:
    edit = json.dumps(EDIT["tool_calls"][0]["args"])
    said = [
        {"content": f"Thought: it says hello\nAction: edit\nAction Input: {edit}\nPAUSE"},
        {"content": "Changed."},
        {"content": "Final Answer: Changed."},
    ]
    place = ("-C", str(workspace), "--thread", "otter", "--protocol", "text")
    done = headway("run", "make it bye", *place, "--model", script(said), "--json").json
    assert (done["status"], done["answer"]) == ("completed", "Changed.")
    assert [step["thought"] for step in done["steps"]] == ["it says hello", "Changed.", "Changed."]
    assert (workspace / "a.txt").read_text().startswith("bye")

    asked = headway("show", "otter@7", "--request").json
    assert (asked["protocol"], asked["as_sent"]) == ("text", True)
    assert asked["messages"][-1]["content"].startswith("Observation: ")
    assert f"Action Input: {edit}" in asked["messages"][-2]["content"]

    native = [*said, {"tool_calls": [{"name": "read_file", "args": {"path": "a.txt"}}]}, DONE]
    more = ("--model", script(native), "--protocol", "native", "--json")
    again = headway("resume", "otter", "look again", *more).json
    assert (again["status"], again["steps"][0]["tool_call"]["name"]) == ("completed", "read_file")


def test_another_word_is_refused_with_the_right_ones(headway: Headway) -> None:
    done = headway("run", "x", "--model", "openai:m", "--protocol", "xml")
    assert done.code == 2
    assert "--protocol takes auto, native, text, not 'xml'" in done.err
