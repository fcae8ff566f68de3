"""The demo's policy as a function of what it sees, against a project that really fails."""

import json
import shutil
import subprocess
import sys
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest
from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, ToolMessage

from headway_cli.demo.policy import FILES, SOURCE, TEST_COMMAND, repair_shop


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    return Path(shutil.copytree(str(files("headway_cli.demo") / "project"), tmp_path / "shop"))


def run_tests(shop: Path) -> dict[str, Any]:
    command = [sys.executable, "-B", *TEST_COMMAND.split()[1:]]
    done = subprocess.run(command, cwd=shop, capture_output=True, text=True)
    return {"ok": True, "exit_code": done.returncode, "stdout": "", "stderr": done.stderr}


def carry_out(shop: Path, name: str, args: dict[str, Any]) -> dict[str, Any]:
    if name == "bash":
        return run_tests(shop)
    path = shop / args["path"]
    text = path.read_text()
    if name == "read_file":
        return {"ok": True, "text": text}
    if text.count(args["old_text"]) != 1:
        return {"ok": False, "error": "no_match", "message": "not found"}
    path.write_text(text.replace(args["old_text"], args["new_text"]))
    return {"ok": True}


def play(shop: Path, *, fail_edits: int = 0) -> list[AnyMessage]:
    history: list[AnyMessage] = [HumanMessage("repair it")]
    while True:
        reply = repair_shop(history)
        history.append(reply)
        if not reply.tool_calls:
            return history
        for call in reply.tool_calls:
            if call["name"] == "edit" and fail_edits:
                fail_edits -= 1
                result = {"ok": False, "error": "changed", "message": "changed since read"}
            else:
                result = carry_out(shop, call["name"], call["args"])
            history.append(ToolMessage(json.dumps(result), tool_call_id=call["id"]))


def calls(history: list[AnyMessage]) -> list[list[str]]:
    replies = [message for message in history if isinstance(message, AIMessage)]
    return [[call["name"] for call in reply.tool_calls] for reply in replies]


def test_one_of_three_tests_fails_where_the_command_runs(shop: Path) -> None:
    said = run_tests(shop)
    assert said["exit_code"] == 1
    assert "Ran 3 tests" in said["stderr"]
    assert "AssertionError: 300 != 0" in said["stderr"]
    assert "FAILED (failures=1)" in said["stderr"]


def test_the_good_route_is_three_reads_tests_edit_tests_answer(shop: Path) -> None:
    before = {path: (shop / path).read_bytes() for path in FILES}
    history = play(shop)
    assert calls(history) == [["read_file"] * 3, ["bash"], ["edit"], ["bash"], []]
    assert run_tests(shop)["exit_code"] == 0
    assert [path for path in FILES if (shop / path).read_bytes() != before[path]] == [SOURCE]
    ids = [call["id"] for m in history if isinstance(m, AIMessage) for call in m.tool_calls]
    assert len(set(ids)) == 6


def test_passing_tests_end_it_at_once(shop: Path) -> None:
    play(shop)
    history = play(shop)
    assert calls(history) == [["read_file"] * 3, ["bash"], []]
    assert history[-1].text == "The tests pass already; I changed nothing."


def test_a_failed_edit_makes_it_read_again(shop: Path) -> None:
    history = play(shop, fail_edits=1)
    assert calls(history)[2:] == [["edit"], ["read_file"], ["edit"], ["bash"], []]
    assert run_tests(shop)["exit_code"] == 0


def test_two_failed_edits_are_admitted(shop: Path) -> None:
    history = play(shop, fail_edits=9)
    assert calls(history)[2:] == [["edit"], ["read_file"], ["edit"], []]
    assert history[-1].text == f"I could not change {SOURCE}: changed since read"


def test_another_cause_is_not_claimed_to_be_found(shop: Path) -> None:
    (shop / SOURCE).write_text("def delivery_cost(total: int) -> int:\n    return 300\n")
    assert "I do not find the cause" in play(shop)[-1].text


def test_a_sandbox_that_fails_is_said() -> None:
    call = {"name": "bash", "args": {"command": TEST_COMMAND}, "id": "1", "type": "tool_call"}
    failed = '{"ok": false, "error": "sandbox_failed", "message": "no namespaces"}'
    history: list[AnyMessage] = [
        HumanMessage("repair it"),
        AIMessage("", tool_calls=[call]),
        ToolMessage(failed, tool_call_id="1"),
    ]
    assert repair_shop(history).text == "The tests could not be run: no namespaces"


def test_a_new_task_starts_over_and_headways_own_messages_do_not(shop: Path) -> None:
    history = play(shop)
    again = repair_shop([*history, HumanMessage("once more")])
    assert [call["name"] for call in again.tool_calls] == ["read_file"] * 3
    noted = repair_shop([*history, HumanMessage("the check is red", name="headway")])
    assert noted.tool_calls == []
