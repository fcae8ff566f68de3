import os
import shlex
import subprocess
import sys
from importlib import import_module
from pathlib import Path
from signal import SIGHUP, SIGTERM
from typing import get_args

import pytest

from headway.status import USAGE_ERROR, Status, exit_code
from headway_cli.help_text import COMMANDS, EXAMPLE, EXIT_CODES
from headway_cli.main import main
from headway_cli.parser import build_parser
from headway_cli.streams import CANNOT_WRITE, PIPE_CLOSED


def test_help_opens_with_examples_that_parse(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="0"):
        main(["--help"])
    text = capsys.readouterr().out
    examples = text[text.index("examples:") : text.index("positional arguments:")]
    assert text.index("examples:") < text.index("COMMAND\n")
    lines = examples.replace("\\\n", " ").splitlines()
    commands = [line.strip() for line in lines if line.startswith("  headway")]
    assert len(commands) >= 4
    for command in commands:
        assert build_parser().parse_args(shlex.split(command)[1:]).command in COMMANDS


@pytest.mark.parametrize("command", COMMANDS)
def test_the_help_of_a_command_shows_examples_that_parse(command: str) -> None:
    for line in EXAMPLE[command].splitlines():
        words = shlex.split(line)[1:]
        assert build_parser().parse_args(words).command == command


def test_no_command_at_all_is_the_help_and_exit_2(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([]) == 2
    assert "examples:" in capsys.readouterr().err


def test_help_lists_every_exit_code_there_is(capsys: pytest.CaptureFixture[str]) -> None:
    real = {exit_code(status) for status in get_args(Status)} | {
        USAGE_ERROR,
        CANNOT_WRITE,
        PIPE_CLOSED,
        exit_code("limit", "seconds"),
        *(exit_code("cancelled", ended_by=int(number)) for number in (SIGHUP, SIGTERM)),
    }
    assert set(EXIT_CODES) == real
    with pytest.raises(SystemExit):
        main(["--help"])
    text = capsys.readouterr().out
    assert all(f"  {code:<4} {meaning}" in text for code, meaning in EXIT_CODES.items())


def test_help_imports_neither_langgraph_nor_langchain_nor_pydantic() -> None:
    program = (
        "import sys\nfrom headway_cli.main import main\n"
        "try: main(['run', '--help'])\n"
        "except SystemExit: pass\n"
        "print([m for m in sys.modules if m in ('langgraph', 'langchain_core', 'pydantic')])"
    )
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert run.stdout.splitlines()[-1] == "[]", run.stderr


def test_a_list_of_threads_imports_neither_langgraph_nor_langchain(tmp_path: Path) -> None:
    program = (
        "import sys\nfrom headway_cli.main import main\nmain(['threads'])\n"
        "print([m for m in sys.modules if m in ('langgraph', 'langchain_core')])"
    )
    run = subprocess.run(
        [sys.executable, "-c", program],
        env={**os.environ, "HEADWAY_HOME": str(tmp_path)},
        capture_output=True,
        text=True,
    )
    assert run.stdout.splitlines()[-1] == "[]", run.stderr


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_listed_has_a_module(command: str) -> None:
    assert callable(import_module(f"headway_cli.commands.{command}").run)


@pytest.mark.parametrize(
    "argv",
    [
        ["fly"],
        ["run"],
        ["run", "task", "--json", "--jsonl"],
        ["resume", "t", "--approve", "--reject", "no"],
        ["run", "task", "--lim", "tokens=1"],
    ],
)
def test_wrong_use_is_exit_2(argv: list[str]) -> None:
    with pytest.raises(SystemExit, match="2"):
        main(argv)


def test_the_version_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="0"):
        main(["--version"])
    assert capsys.readouterr().out.startswith("headway ")


def test_what_was_not_given_is_none_so_that_other_sources_count() -> None:
    args = build_parser().parse_args(["run", "do it"])
    assert (args.model, args.network, args.protect, args.limit) == (None, None, None, None)


@pytest.mark.parametrize(
    ("argv", "told"),
    [
        (["rnu", "x"], "headway: there is no command 'rnu'; did you mean 'run'? (headway --help)"),
        (["fly"], "headway: there is no command 'fly' (headway --help)"),
        (["run"], "headway run: the following arguments are required: TASK (headway run --help)"),
        (["run", "x", "y"], "headway: unrecognized arguments: y (headway --help)"),
    ],
)
def test_wrong_use_is_told_on_one_line(
    argv: list[str], told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit, match="2"):
        main(argv)
    assert capsys.readouterr().err == f"{told}\n"
