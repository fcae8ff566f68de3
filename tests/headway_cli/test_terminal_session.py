"""A person at a terminal: a real pseudo-terminal for stdin and stderr, this process behind it."""

import os
import pty
import sys
from collections.abc import Iterator
from contextlib import AbstractContextManager, redirect_stderr, redirect_stdout, suppress
from pathlib import Path
from typing import Any, TextIO

import pytest
from cli_support import DONE, EDIT, Script, call

from headway_cli.main import main


class Terminal:
    """Both ends of the pseudo-terminal."""

    def __init__(self, master: int, reads: TextIO, writes: TextIO) -> None:
        self._master, self._reads, self._writes = master, reads, writes

    def types(self, text: str) -> None:
        os.write(self._master, text.encode())

    def runs(self, workspace: Path, model: str, *flags: str) -> int:
        """`headway run` with this terminal as stdin and stderr."""
        place = ("-C", str(workspace), "--thread", "otter", "--model", model)
        before, sys.stdin = sys.stdin, self._reads
        try:
            with redirect_stderr(self._writes):
                return main(("run", "make it bye", *place, *flags))
        finally:
            sys.stdin = before

    def as_stdout(self) -> AbstractContextManager[TextIO]:
        """Make it stdout, too."""
        return redirect_stdout(self._writes)

    def shows(self) -> str:
        os.set_blocking(self._master, False)
        seen = b""
        with suppress(BlockingIOError):
            while piece := os.read(self._master, 65536):
                seen += piece
        return seen.decode().replace("\r\n", "\n")


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch) -> Iterator[Terminal]:
    master, slave = pty.openpty()
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm")
    with os.fdopen(slave, "r") as reads, os.fdopen(os.dup(slave), "w") as writes:
        yield Terminal(master, reads, writes)
    os.close(master)


def test_an_approval_is_asked_at_once_and_can_be_looked_at(
    terminal: Terminal, script: Script, workspace: Path
) -> None:
    terminal.types("s\ny\n")
    assert terminal.runs(workspace, script([EDIT, DONE]), "--ask", "edits") == 0
    shown = terminal.shows()
    assert "edit a.txt\n    -hello\n    +bye\n[y]es, [n]o, [e]dit, [s]how it whole?" in shown
    assert '"old_text": "hello"' in shown
    assert shown.count("workspace ") == 1, "the header is not shown again"
    assert (workspace / "a.txt").read_text() == "bye\nworld\n"


def test_a_no_is_read_by_the_model_with_its_reason(
    terminal: Terminal, script: Script, workspace: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    terminal.types("n\nnot that one\n")
    assert terminal.runs(workspace, script([EDIT, DONE]), "--ask", "edits", "--json") == 0
    assert "not that one" in capsys.readouterr().out
    assert (workspace / "a.txt").read_text() == "hello\nworld\n"


def test_a_question_of_the_model_is_answered_on_the_spot(
    terminal: Terminal, script: Script, workspace: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    terminal.types("the second\n")
    model = script([call("ask_user", question="Which file?"), DONE])
    assert terminal.runs(workspace, model, "--json") == 0
    assert "Which file?" in terminal.shows()
    assert "the second" in capsys.readouterr().out


def test_a_call_can_be_changed_in_an_editor_before_it_runs(
    terminal: Terminal, script: Script, workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("EDITOR", "sed -i s/bye/welcome/")
    terminal.types("e\n")
    assert terminal.runs(workspace, script([EDIT, DONE]), "--ask", "edits") == 0
    assert (workspace / "a.txt").read_text() == "welcome\nworld\n"


@pytest.mark.parametrize("editor", ["true", "false", "sed -i s/{//", "/nonexistent/editor"])
def test_an_edit_that_changes_nothing_or_fails_asks_again(
    terminal: Terminal,
    script: Script,
    workspace: Path,
    monkeypatch: pytest.MonkeyPatch,
    editor: str,
) -> None:
    monkeypatch.setenv("EDITOR", editor)
    terminal.types("e\n" if editor == "true" else "e\n\n")
    terminal.types("n\nlater\n")
    assert terminal.runs(workspace, script([EDIT, DONE]), "--ask", "edits") == 0
    assert (workspace / "a.txt").read_text() == "hello\nworld\n"


@pytest.mark.parametrize("reply", [EDIT, call("ask_user", question="Which file?")])
def test_the_end_of_input_decides_nothing(
    terminal: Terminal, script: Script, workspace: Path, reply: dict[str, Any]
) -> None:
    terminal.types("\x04")
    assert terminal.runs(workspace, script([reply, DONE]), "--ask", "edits") == 6
    assert (workspace / "a.txt").read_text() == "hello\nworld\n"


def test_a_command_that_destroys_work_is_asked_about_and_named(
    terminal: Terminal, script: Script, workspace: Path
) -> None:
    terminal.types("n\nkeep it\n")
    model = script([call("bash", command="ls; rm -rf src"), DONE])
    assert terminal.runs(workspace, model) == 0
    assert "this destroys work: rm -rf src" in terminal.shows()


def test_tokens_appear_as_they_come_and_no_answer_twice(
    terminal: Terminal, script: Script, workspace: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    thoughtful = {**EDIT, "content": "First the edit."}
    assert terminal.runs(workspace, script([thoughtful, DONE])) == 0
    shown = terminal.shows()
    assert shown.count("First the edit.") == 1
    assert "\x1b[1m" in shown
    assert "\x1b" not in capsys.readouterr().out


def test_an_answer_that_was_watched_is_not_repeated_on_the_same_terminal(
    terminal: Terminal, script: Script, workspace: Path
) -> None:
    with terminal.as_stdout():
        assert terminal.runs(workspace, script([EDIT, DONE])) == 0
    shown = terminal.shows()
    assert shown.count("Changed.") == 1
    assert "status     completed" in shown.replace("\x1b[32m", "")


def test_no_color_is_honoured_on_a_terminal(
    terminal: Terminal, script: Script, workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    assert terminal.runs(workspace, script([EDIT, DONE])) == 0
    assert "\x1b" not in terminal.shows()


def test_no_sandbox_is_said_loudly(terminal: Terminal, script: Script, workspace: Path) -> None:
    assert terminal.runs(workspace, script([DONE]), "--sandbox", "none") == 0
    assert "WARNING: no sandbox" in terminal.shows()
