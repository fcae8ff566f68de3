"""The outcome is made of facts; no prose changes them."""

import json
from pathlib import Path
from typing import get_args

import pytest
from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, ToolMessage

from headway import Limits, run_agent
from headway.influence import runs_by_itself
from headway.notes import FIELD, from_headway
from headway.outcome import CheckReport, CommandRun, FileChange
from headway.report import (
    commands_run,
    established,
    last_text,
    missing,
    proven,
    unproven,
    usage,
    verified,
)
from headway.state import Run, Stop
from headway.status import Status
from policies import bash, call, replies

GREEN = CheckReport(passed=True, command="true", exit_code=0, count=0)
RED = CheckReport(passed=False, command="false", exit_code=1, count=2)
EMPTY = GREEN.model_copy(update={"rests_on": ["conftest.py"]})


@pytest.mark.parametrize("status", get_args(Status))
def test_only_an_accepted_answer_is_verified(status: Status) -> None:
    assert verified(status, GREEN) is (True if status == "completed" else None)
    assert verified(status, RED) is False
    assert verified(status, EMPTY) is None
    assert verified(status, None) is None


@pytest.mark.parametrize(
    ("problem", "words"),
    [("promise", "only said what it would do"), ("cut", "output limit"), ("empty", "were empty")],
)
def test_what_was_wrong_with_replies_is_said(problem: str, words: str) -> None:
    assert words in missing("invalid_answer", Stop(evidence={"problem": problem}))


def test_a_green_check_that_proves_nothing_is_said_so() -> None:
    assert not proven({"last": EMPTY.model_dump()})
    assert not proven({"last": RED.model_dump()})
    assert not proven({})
    assert proven({"last": GREEN.model_dump()})
    assert "conftest.py" in unproven(EMPTY)[0]
    assert unproven(GREEN) == unproven(RED) == unproven(None) == []


PROSE = "I ran all tests: 100 passed. verified: true. The check is green. conftest.py was deleted."


def test_prose_changes_no_fact(workspace: Path) -> None:
    results = [
        run_agent(
            "x",
            model=replies(bash("exit 3"), text),
            workspace=workspace,
            check="echo '2 failed'; false",
        )
        for text in ("done", PROSE)
    ]
    facts = [
        result.model_dump(
            include={"status", "verified", "files", "commands", "established", "check"}
        )
        for result in results
    ]
    assert facts[0] == facts[1]
    assert results[1].answer == PROSE


def command(command: str, code: int, before: str, after: str, id: str) -> list[AnyMessage]:
    return [
        AIMessage("", tool_calls=[bash(command, id)]),
        ToolMessage(
            json.dumps({"ok": True, "exit_code": code}),
            tool_call_id=id,
            response_metadata={FIELD: {"before": before, "after": after}},
        ),
    ]


def edited(id: str, before: str, after: str) -> list[AnyMessage]:
    return [
        AIMessage("", tool_calls=[call("edit", id, path="a", old_text="", new_text="")]),
        ToolMessage(
            '{"ok": true}',
            tool_call_id=id,
            response_metadata={FIELD: {"before": before, "after": after}},
        ),
    ]


def test_commands_older_than_the_last_edit_are_marked() -> None:
    messages = [
        HumanMessage("x"),
        *command("make test", 1, "s0", "s0", "c1"),
        *edited("c2", "s0", "s1"),
        *command("make test", 0, "s1", "s1", "c3"),
    ]
    found = [(c.command, c.exit_code, c.before_last_change) for c in commands_run(messages)]
    assert found == [("make test", 1, True), ("make test", 0, False)]
    assert [c.before_last_change for c in commands_run([*messages, *edited("c4", "s1", "s2")])] == [
        True,
        True,
    ]


def test_a_command_that_changed_files_itself_is_not_older_than_its_change() -> None:
    messages = [HumanMessage("x"), *command("make", 0, "s0", "s1", "c1")]
    assert not commands_run(messages)[0].before_last_change


def test_a_later_call_that_only_reads_makes_no_command_older(workspace: Path) -> None:
    look = call("read_file", "r", path="a.txt")
    model = replies(bash("ls", "c1"), look, "done")
    result = run_agent("x", model=model, workspace=workspace)
    assert [(c.command, c.before_last_change) for c in result.commands] == [("ls", False)]


def test_facts_are_short_sentences_in_order() -> None:
    files = [FileChange(path="a", kind="added"), FileChange(path="b", kind="mode")]
    runs = [
        CommandRun(command="make\nmake test", exit_code=2, before_last_change=True),
        CommandRun(command="sleep 9", exit_code=None, timed_out=True),
    ]
    assert established(files, runs, RED, stale=True) == [
        "a was added",
        "b was given another mode",
        "`make…` exited with 2, before the last change of files",
        "`sleep 9` timed out",
        "the check is red (2 failures), before the last change of files",
    ]
    many = [CommandRun(command=f"echo {n}", exit_code=0) for n in range(100)]
    assert established([], many, GREEN)[-1] == "the check is green"
    assert len(established([], many, GREEN)) == 30


def test_the_last_text_is_the_models_own_of_this_run() -> None:
    partial = AIMessage("Stopped: limit", response_metadata={FIELD: {"partial": True}})
    said: list[AnyMessage] = [HumanMessage("a"), AIMessage(" old "), HumanMessage("b")]
    assert last_text(said) == ""
    assert last_text([*said, AIMessage("new"), from_headway("go on"), partial]) == "new"


def test_cost_is_unknown_where_nothing_was_called() -> None:
    assert usage(Run(cost=0.0)).cost is None
    assert usage(Run(model_calls=1, cost=0.5)).cost == 0.5


@pytest.mark.parametrize(
    "path",
    ["conftest.py", "a/b/conftest.py", "pytest.ini", "setup.cfg", "pyproject.toml", "lib/x.pth",
     "Makefile", "package.json", ".git/hooks/pre-commit", ".github/workflows/a.yml",
     "jest.config.ts", "sub/.git", "sub/.git/config", ".envrc", ".vscode/launch.json"],
)  # fmt: skip
def test_files_that_tools_obey_unasked_are_known(path: str) -> None:
    assert runs_by_itself(path)


@pytest.mark.parametrize(
    "path",
    ["calc.py", "my_conftest.py", "docs/Makefile.md", "a/hooks/x", "sub/.git/HEAD",
     ".git/hooks/pre-commit.sample"],
)  # fmt: skip
def test_other_files_are_not(path: str) -> None:
    assert not runs_by_itself(path)


def test_the_check_of_an_earlier_state_is_marked(workspace: Path) -> None:
    model = replies("done", bash("echo x > new"), bash("cat new", "c2"), "done")
    limits = Limits(model_calls=3)
    result = run_agent("x", model=model, workspace=workspace, check="false", limits=limits)
    assert (result.status, result.verified) == ("limit", False)
    assert result.established[-1] == "the check is red, before the last change of files"


def test_a_command_before_a_change_that_was_taken_back_still_counts() -> None:
    messages = [
        HumanMessage("x"),
        *command("make test", 1, "s0", "s0", "c1"),
        *edited("c2", "s0", "s1"),
        *edited("c3", "s1", "s0"),
    ]
    assert not commands_run(messages)[0].before_last_change
