from typing import Any, get_args

import pytest

from headway.status import Status
from headway_cli.report import report
from headway_cli.terminal import Terminal

PLAIN = Terminal(width=80)

DONE: dict[str, Any] = {
    "status": "completed",
    "limit": None,
    "answer": "The path was wrong.",
    "verified": True,
    "thread": "otter",
    "workspace": "/tmp/shop",
    "usage": {"model_calls": 5, "tool_calls": 6, "input_tokens": 1200, "output_tokens": 34},
    "limits": {"model_calls": 8, "tool_calls": 16, "seconds": 300.0, "tokens": None},
    "files": [
        {"path": "shop/delivery.py", "kind": "changed"},
        {"path": "conftest.py", "kind": "added", "runs_by_itself": True},
    ],
    "commands": [
        {"command": "python -m unittest", "exit_code": 1, "before_last_change": True},
        {"command": "python -m unittest", "exit_code": 0},
        {"command": "sleep 99", "exit_code": None, "timed_out": True},
    ],
    "check": {"passed": True, "command": "python -m unittest", "exit_code": 0},
}

DONE_TEXT = """\
The path was wrong.

status     completed, verified by the check: python -m unittest
files      changed  shop/delivery.py
           added    conftest.py  (tools run this file by themselves: look at it)
commands   exit 1   python -m unittest  (before the last change)
           exit 0   python -m unittest
           timed out sleep 99
used       5 of 8 model calls, 6 of 16 tool calls, 0 of 300 seconds, 1,234 tokens
thread     otter
workspace  /tmp/shop

-a
+b

look at it headway show otter
go back    headway undo otter
go on      headway resume otter "…\""""


def test_a_finished_run_is_answer_facts_and_what_to_type() -> None:
    assert report(DONE, PLAIN, "-a\n+b\n") == DONE_TEXT


def test_a_partial_result_is_not_called_an_answer() -> None:
    outcome = {**DONE, "status": "limit", "limit": "tool_calls", "verified": None, "check": None}
    text = report(outcome, PLAIN)
    assert text.startswith("So far, not finished:\nThe path was wrong.")
    assert "status     stopped at a limit (tool_calls), not verified" in text


def test_what_waits_is_shown_with_the_flags_that_answer_it() -> None:
    waiting = {"action_requests": [{"name": "edit", "args": {"path": "shop/delivery.py"}}]}
    text = report({**DONE, "status": "needs_approval", "pending": [waiting]}, PLAIN)
    assert "waits      edit shop/delivery.py" in text
    assert 'headway resume otter --approve   (or --reject "why")' in text


def waiting(name: str, **args: object) -> str:
    """What a report says of a call that waits."""
    action = {"name": name, "args": args}
    text = report({"status": "needs_approval", "pending": [{"action_requests": [action]}]}, PLAIN)
    return text[text.index("waits   ") :]


def test_an_edit_that_waits_is_shown_as_a_diff() -> None:
    old, new = "a\nb\nc\nd\ne\nf", "a\nb\nc\nd\nE\nf"
    shown = "    " + "\n    ".join([" c", " d", "-e", "+E", " f"])
    assert waiting("edit", path="x", old_text=old, new_text=new) == f"waits      edit x\n{shown}"
    assert waiting("edit", path="x", old_text="", new_text="1\n2").endswith("x\n    +1\n    +2")


def test_a_command_that_waits_is_shown_as_it_is() -> None:
    assert waiting("bash", command="git status") == "waits      bash git status"
    assert waiting("bash", command="cd  'a  b'\nrm -r .") == (
        "waits      bash cd 'a b' rm -r .\n    cd  'a  b'\n    rm -r ."
    )


def test_what_waits_is_bounded_and_what_is_missing_is_counted() -> None:
    shown = waiting("bash", command="x" * 50_000 + "\nrm -rf .")
    assert len(shown) < 7_000
    assert "44009 more characters: --json has all of it" in shown
    assert len(waiting("edit", path="x", old_text="", new_text="\n" * 500).splitlines()) < 70


@pytest.mark.parametrize("status", get_args(Status))
def test_every_status_has_words(status: str) -> None:
    assert report({"status": status}, PLAIN)


def test_no_control_code_without_colour_and_hostile_text_stays_text() -> None:
    hostile = "\x1b[2Jx"
    outcome = {
        **DONE,
        "answer": hostile,
        "files": [{"path": hostile, "kind": "added"}],
        "commands": [{"command": hostile, "exit_code": 0}],
        "check": {"command": hostile},
        "established": [hostile],
        "warnings": [hostile],
        "missing": hostile,
        "next_step": hostile,
        "pending": [{"action_requests": [{"name": hostile, "args": {"path": hostile}}]}],
    }
    assert "\x1b" not in report(outcome, PLAIN, f"+{hostile}")


def test_a_long_diff_is_cut_with_its_count() -> None:
    text = report(DONE, PLAIN, "+x\n" * 250)
    assert "… 50 more lines of the diff" in text


def test_a_name_with_a_newline_forges_no_line() -> None:
    name = "x\nfiles      added    y\tz"
    text = report({**DONE, "files": [{"path": name, "kind": "added"}]}, PLAIN)
    assert "added    x\\nfiles      added    y\\tz" in text.splitlines()[3]


def test_what_was_ended_by_headway_says_why_and_none_is_no_exit_code() -> None:
    run = {"command": "yes", "exit_code": None, "why": "ended because it printed too much"}
    text = report({**DONE, "commands": [run]}, PLAIN)
    assert "stopped  yes  (ended because it printed too much)" in text
    assert "None" not in text


def test_commands_before_a_change_that_was_taken_back_stand_beside_none_in_the_end() -> None:
    assert "files      none changed in the end\n" in report({**DONE, "files": []}, PLAIN)


def test_a_red_check_shows_the_end_of_what_it_said() -> None:
    output = "\n".join(f"line {number}" for number in range(30))
    check = {"passed": False, "command": "make", "exit_code": 2, "output": output}
    text = report({**DONE, "status": "check_failed", "verified": False, "check": check}, PLAIN)
    assert "the check said (the last 20 lines; --json has 10 more):\n    line 10\n" in text
    assert "    line 29\n" in text
    assert "line 9\n" not in text
