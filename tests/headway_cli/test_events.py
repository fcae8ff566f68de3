import json

import pytest

from headway_cli.events import render
from headway_cli.terminal import Terminal

WIDE = Terminal(width=80)


def observation(tool: str, **result: object) -> dict[str, object]:
    text = json.dumps(result)
    return {"type": "observation", "turn": 1, "tool": tool, "status": "success", "text": text}


@pytest.mark.parametrize(
    ("event", "line"),
    [
        (
            {"type": "call", "turn": 3, "tool": "bash", "args": {"command": "make\ntest"}},
            " 3  bash make test",
        ),
        (
            {"type": "call", "turn": 12, "tool": "search", "args": {"a": 1}},
            '12  search {"a": 1}',
        ),
        ({"type": "thought", "turn": 1, "text": "Look first.\n"}, "\nLook first."),
        ({"type": "note", "about": "retry", "text": "again in 2 s"}, "    retry: again in 2 s"),
        (observation("read_file", ok=True, text="a\nb\n"), "    read_file: 2 lines"),
        (
            observation("bash", ok=True, exit_code=1, stdout="so\n", stderr="FAILED (1)\n\n"),
            "    bash: exit 1 FAILED (1)",
        ),
        (
            observation("bash", ok=True, exit_code=None, timed_out=True, stdout="", stderr=""),
            "    bash: timed out",
        ),
        (
            observation("edit", ok=True, path="a.py", line=3, preview="3  one\n4  two"),
            "    edit: path a.py, line 3",
        ),
        (
            observation("edit", ok=False, error="ambiguous", message="2 places", next_step="more"),
            "    edit: ambiguous: 2 places",
        ),
        (
            {"type": "observation", "tool": "weather", "status": "success", "text": "\n4 °C\n5"},
            "    weather: 4 °C",
        ),
        ({"type": "end", "outcome": {}}, ""),
        ({"type": "of tomorrow"}, ""),
    ],
)
def test_each_event_is_one_line(event: dict[str, object], line: str) -> None:
    assert render(event, WIDE) == line


def test_a_note_of_many_lines_shows_its_first_and_its_last_ones() -> None:
    output = "\n".join(f"line   {number}" for number in range(1, 31))
    event = {"type": "note", "about": "verify", "text": f"the check is red:\n{output}\n\n"}
    assert render(event, WIDE).splitlines() == [
        "    verify: the check is red:",
        "        … 18 lines left out",
        *(f"        line   {number}" for number in range(19, 31)),
    ]
    endless = {"type": "note", "about": "verify", "text": "red:\n" + "x" * 10**6}
    assert len(render(endless, Terminal(width=10**9))) < 1000


def test_a_narrow_terminal_cuts_lines_and_says_so() -> None:
    event = {"type": "call", "turn": 1, "tool": "bash", "args": {"command": "x" * 100}}
    assert render(event, Terminal(width=30)) == " 1  bash " + "x" * 20 + "…"


def test_hostile_text_reaches_no_terminal() -> None:
    hostile = "\x1b[2J\x1b]0;owned\x07"
    events = [
        {"type": "start", "thread": hostile, "model": hostile, "task": hostile},
        {"type": "thought", "text": hostile},
        {"type": "call", "turn": hostile, "tool": hostile, "args": {"command": hostile}},
        {"type": "call", "turn": 1, "tool": "x", "args": {hostile: hostile}},
        {"type": "observation", "tool": hostile, "status": "success", "text": hostile},
        observation("bash", ok=True, exit_code=0, stdout=hostile, stderr=""),
        observation("bash", ok=False, error=hostile, message=hostile),
        {"type": "note", "about": hostile, "text": hostile},
    ]
    assert not any("\x1b" in render(event, WIDE) for event in events)


def test_the_start_names_thread_model_and_workspace() -> None:
    event = {"type": "start", "thread": "otter", "model": "openai:m", "workspace": "/w"}
    assert render(event, WIDE) == "thread    otter\nmodel     openai:m\nworkspace /w"
