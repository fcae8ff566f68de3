"""An isolated tool: the same results and errors as in process, and it can be killed."""

import asyncio
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from isolated_support import all_gone, big, fails, pid, sleeps, waits, where
from isolated_tools import Named, doubled, rebound
from langchain_core.tools import BaseTool

from headway_tools.env import ToolEnv, use_env
from headway_tools.errors import HeadwayError, ToolFailure
from headway_tools.journal import MemoryJournal
from headway_tools.kinds import declaration_of, declare
from headway_tools.workspace import Workspace


@pytest.fixture(params=["sync", "async"])
def run(request: pytest.FixtureRequest, workspace: Path) -> Iterator[Callable[..., Any]]:
    """Call an isolated tool, which has `timeout` seconds."""
    journal = MemoryJournal()

    def call(tool: BaseTool, timeout: float = 30, **arguments: Any) -> Any:
        place = Workspace(workspace, workspace)
        with use_env(ToolEnv(place, None, journal, None, timeout)):
            if request.param == "sync":
                return tool.invoke(arguments)
            return asyncio.run(tool.ainvoke(arguments))

    yield call
    journal.close()


def isolated(tool: Any) -> BaseTool:
    return declare(tool, "read", isolated=True)


def test_it_runs_in_another_process(run: Callable[..., Any]) -> None:
    assert run(isolated(pid)) != os.getpid()


@pytest.mark.parametrize("run", ["sync"], indirect=True)
@pytest.mark.parametrize("tool", [doubled, rebound], ids=["decorated", "bound to its own name"])
def test_a_decorated_function_is_found_again(run: Callable[..., Any], tool: BaseTool) -> None:
    assert run(isolated(tool), number=21) == {"result": 42}


def test_an_asynchronous_function_runs_to_its_end(run: Callable[..., Any]) -> None:
    assert run(isolated(waits), seconds=0.01) == "waited"


def test_a_tool_object_travels_whole(run: Callable[..., Any]) -> None:
    assert run(isolated(Named(who="Ada")), greeting="Hello") == "Hello, Ada"


def test_a_large_result_arrives_and_prints_stay_off_stdout(
    run: Callable[..., Any], capfd: pytest.CaptureFixture[str]
) -> None:
    assert len(run(isolated(big), size=5_000_000)) == 5_000_000
    seen = capfd.readouterr()
    assert (seen.out, seen.err) == ("", "chatter\n")


def test_the_workspace_is_known_in_the_process(run: Callable[..., Any], workspace: Path) -> None:
    assert run(isolated(where)) == str(workspace)


@pytest.mark.parametrize("run", ["sync"], indirect=True)
@pytest.mark.parametrize(
    ("how", "code", "says"),
    [
        ("value", "tool_error", "ValueError: not that"),
        ("failure", "not_found", "no such thing"),
        ("exit", "tool_error", "SystemExit: 3"),
        ("dies", "tool_error", "exited with 9 without a result"),
        ("signal", "tool_error", "killed by SIGSEGV without a result"),
        ("unsendable", "tool_error", "lambda"),
    ],
)
def test_what_it_raises_is_said_plainly(
    run: Callable[..., Any], how: str, code: str, says: str
) -> None:
    with pytest.raises(ToolFailure) as caught:
        run(isolated(fails), how=how)
    assert caught.value.code == code
    assert says in caught.value.message
    if how == "failure":
        assert (caught.value.next_step, caught.value.details) == ("try another", {"nearest": ["b"]})


def test_the_time_limit_kills_it_with_its_children(run: Callable[..., Any], tmp_path: Path) -> None:
    marker = tmp_path / "pids"
    for seconds in (1, 4, 16, 64):
        if not marker.exists():
            with pytest.raises(ToolFailure, match="timeout"):
                run(isolated(sleeps), timeout=seconds, marker=str(marker))
    assert all_gone(marker)


async def test_a_cancel_kills_it_at_once(workspace: Path, tmp_path: Path) -> None:
    marker = tmp_path / "pids"
    journal = MemoryJournal()
    env = ToolEnv(Workspace(workspace, workspace), None, journal, None, 600)
    with use_env(env):
        task = asyncio.create_task(isolated(sleeps).ainvoke({"marker": str(marker)}))
        while not marker.exists():  # noqa: ASYNC110 -- another process writes it
            await asyncio.sleep(0.01)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
    assert all_gone(marker)
    journal.close()


PROGRAM = """
from headway_tools.env import ToolEnv, use_env
from headway_tools.journal import MemoryJournal
from headway_tools.kinds import declare

def shout(word: str) -> str:
    '''Say it loudly.'''
    return word.upper()

if __name__ == "__main__":
    with use_env(ToolEnv(None, None, MemoryJournal(), None, 30)):
        print(declare(shout, isolated=True).invoke({"word": "hey"}))
"""


def test_a_function_of_the_main_program_is_found(tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    done = subprocess.run(
        [sys.executable, program], capture_output=True, text=True, check=False, timeout=120
    )
    assert (done.stdout, done.returncode) == ("HEY\n", 0), done.stderr


def test_a_function_within_a_function_is_refused() -> None:
    def inner(word: str) -> str:
        """Cannot be imported."""
        return word

    with pytest.raises(HeadwayError, match="top of a module"):
        isolated(inner)


def test_a_function_without_a_file_is_refused() -> None:
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=False, timeout=120
    )
    assert "HeadwayError: tool shout: isolated=True needs a function at the top" in done.stderr


def test_a_tool_object_that_does_not_pickle_is_refused() -> None:
    class Local(Named):
        """Cannot be imported."""

    with pytest.raises(HeadwayError, match="pickle"):
        isolated(Local())


def test_it_keeps_name_arguments_and_declaration() -> None:
    made = declare(doubled, "poll", isolated=True, counter="result")
    found = declaration_of(made)
    assert (made.name, made.description, list(made.args)) == (
        "doubled",
        doubled.description,
        ["number"],
    )
    assert (found.kind, found.isolated, found.own, found.counter) == ("poll", True, True, "result")
