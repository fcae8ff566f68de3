"""The bash tool tells exactly what happened, in one JSON object."""

import asyncio
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from headway_tools.bash import bash_tool
from headway_tools.env import ToolEnv, use_env
from headway_tools.errors import HeadwayError, ToolFailure
from headway_tools.journal import MemoryJournal
from headway_tools.kinds import declaration_of
from headway_tools.sandbox import SandboxPolicy, open_sandbox

Run = Callable[..., dict[str, Any]]


@pytest.fixture
def env(tmp_path: Path) -> ToolEnv:
    workspace = tmp_path / "workspace"
    (workspace / "tests").mkdir(parents=True)
    protect = ("tests", "later.txt")
    policy = SandboxPolicy(workspace, workspace, tmp_path / "private", protect=protect)
    return ToolEnv(None, open_sandbox(policy), MemoryJournal(), None, 20)


@pytest.fixture
def bash(env: ToolEnv) -> Run:
    def run(**arguments: object) -> dict[str, Any]:
        with use_env(env):
            return json.loads(bash_tool().invoke(arguments))

    return run


def test_an_ordinary_result(bash: Run) -> None:
    assert bash(command="echo a; echo b >&2; exit 3") == {
        "ok": True,
        "exit_code": 3,
        "stdout": "a\n",
        "stderr": "b\n",
        "truncated": False,
        "timed_out": False,
    }


def test_silence_is_said(bash: Run) -> None:
    assert bash(command="true")["note"] == "no output"


def test_a_hidden_failure_of_a_pipeline_is_shown(bash: Run) -> None:
    assert bash(command="false | cat")["stages"] == [1, 0]
    assert "stages" not in bash(command="yes | head -1")


def test_a_signal_is_named(bash: Run) -> None:
    assert bash(command="kill -9 $$")["signal"] == "SIGKILL"


def test_a_time_out_keeps_what_was_printed(bash: Run) -> None:
    result = bash(command="echo a; sleep 60", timeout=1)
    assert (result["ok"], result["timed_out"], result["exit_code"]) == (True, True, None)
    assert result["stdout"] == "a\n"
    assert "1 s" in result["note"]


def test_the_runs_limit_caps_the_time(env: ToolEnv) -> None:
    short = ToolEnv(None, env.sandbox, env.journal, None, tool_timeout=0.5)
    with use_env(short):
        result = json.loads(bash_tool().invoke({"command": "sleep 60", "timeout": 50}))
    assert result["timed_out"]


def test_ended_background_processes_are_said(bash: Run) -> None:
    assert "background" in bash(command="sleep 60 & echo a")["note"]


def test_a_repaired_path_is_an_error(bash: Run, env: ToolEnv) -> None:
    result = bash(command="echo x >later.txt; echo y >other.txt")
    assert (result["ok"], result["error"]) == (False, "protected")
    assert result["protected"] == ["later.txt"]
    assert env.sandbox is not None
    assert [path.name for path in env.sandbox.policy.root.iterdir()] != ["later.txt"]
    assert (env.sandbox.policy.root / "other.txt").exists()


def test_no_word_of_success_is_claimed(bash: Run) -> None:
    text = json.dumps([bash(command="true"), bash(command="false | true")])
    assert "succe" not in text + bash_tool().description


def test_a_broken_sandbox_is_a_failure_and_no_exit_code(bash: Run, env: ToolEnv) -> None:
    assert env.sandbox is not None
    (env.sandbox.policy.root / "tests").rmdir()
    env.sandbox.policy.root.rmdir()
    with pytest.raises(ToolFailure) as failure:
        bash(command="true")
    assert failure.value.code == "sandbox_failed"


@pytest.mark.parametrize("command", ["a\0b", "x" * 200_000])
def test_a_command_that_cannot_be_started_is_the_models_to_mend(bash: Run, command: str) -> None:
    with pytest.raises(ToolFailure) as failure:
        bash(command=command)
    assert failure.value.code == "invalid_arguments"


@pytest.mark.parametrize(
    "arguments", [{}, {"command": ""}, {"command": "a", "timeout": 0}, {"command": "a", "cwd": "/"}]
)
def test_other_arguments_are_refused(bash: Run, arguments: dict[str, object]) -> None:
    with pytest.raises(ValidationError):
        bash(**arguments)


def test_outside_of_a_tool_call_it_is_an_error_of_the_user() -> None:
    with pytest.raises(HeadwayError, match="no tool call"):
        bash_tool().invoke({"command": "true"})


async def test_coroutines_run_side_by_side(env: ToolEnv) -> None:
    with use_env(env):
        calls = [bash_tool().ainvoke({"command": f"sleep 0.2; echo {n}"}) for n in range(4)]
        results = [json.loads(text)["stdout"] for text in await asyncio.gather(*calls)]
    assert results == ["0\n", "1\n", "2\n", "3\n"]


def test_what_it_declares() -> None:
    declared = declaration_of(bash_tool())
    assert (declared.kind, declared.own) == ("write", True)
