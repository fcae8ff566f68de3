"""A run that is killed: its thread opens, is valid and goes on, and nothing runs twice unsaid."""

import json
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from langgraph.checkpoint.memory import InMemorySaver

from headway import build_agent, run_agent
from policies import bash, replies

PROGRAM = Path(__file__).parent / "kill_runs.py"


def kill(folder: Path, mode: str, number: int) -> dict[str, Any]:
    command = [sys.executable, str(PROGRAM), str(folder), mode, str(number)]
    found = subprocess.run(command, capture_output=True, text=True, check=True)
    report: dict[str, Any] = json.loads(found.stdout)
    return report


def test_killed_at_a_sample_of_our_lines_a_run_goes_on_and_repeats_nothing(tmp_path: Path) -> None:
    report = kill(tmp_path, "lines", 6007)
    assert report["kills"] >= 4
    assert report["faults"] == []


def test_killed_twice_at_random_instants_a_run_goes_on_and_repeats_nothing(tmp_path: Path) -> None:
    assert kill(tmp_path, "random", 4) == {"kills": 4, "faults": []}


class Killed(InMemorySaver):
    """Ends the process, as it were, where the results of the step before `step` are written and
    its checkpoint is not."""

    step: int | None = None

    def put(self, config: Any, checkpoint: Any, metadata: Any, new_versions: Any) -> Any:
        if metadata["step"] == self.step:
            self.step = None
            raise KeyboardInterrupt
        return super().put(config, checkpoint, metadata, new_versions)


@pytest.mark.parametrize("step", range(11))
def test_killed_between_results_and_checkpoint_a_run_goes_on_where_it_was(
    workspace: Path, step: int
) -> None:
    saver = Killed()
    saver.step = step
    model = replies(bash("echo 1 >> log", "c1"), bash("echo 2 >> log", "c2"), "done")
    options: Any = {"model": model, "workspace": workspace, "thread_id": "t", "checkpointer": saver}
    with pytest.raises(KeyboardInterrupt):
        run_agent("first", **options)
    assert run_agent(None, **options).status == "completed"
    assert (workspace / "log").read_text() == "1\n2\n"
    state = build_agent(checkpointer=saver).get_state({"configurable": {"thread_id": "t"}})
    assert [m.type for m in state.values["messages"]] == ["human", *["ai", "tool"] * 2, "ai"]


def resumed(folder: Path, durability: str) -> dict[str, Any]:
    """A parent graph with that durability, killed within a paying call and resumed."""
    program = Path(__file__).parent / "embedded_kill.py"
    command = [sys.executable, str(program), str(folder), durability]
    assert subprocess.run(command, check=False).returncode == -signal.SIGKILL
    report: dict[str, Any] = json.loads(subprocess.check_output(command))
    return report


@pytest.mark.parametrize("durability", ["sync", "async"])
def test_a_parent_that_saves_in_the_background_loses_nothing_either(
    tmp_path: Path, durability: str
) -> None:
    report = resumed(tmp_path, durability)
    assert (report["kept"], report["paid"]) == (True, ["p0"])
    assert "may have run" in report["said"][0]


def test_a_parent_that_saves_at_its_exit_only_keeps_nothing_and_starts_anew(tmp_path: Path) -> None:
    report = resumed(tmp_path, "exit")
    assert (report["kept"], report["paid"]) == (False, ["p0", "p0"])


@pytest.mark.slow
def test_killed_at_every_hundredth_line_a_run_goes_on_and_repeats_nothing(tmp_path: Path) -> None:
    report = kill(tmp_path, "lines", 97)
    assert report["kills"] >= 300
    assert report["faults"] == []


@pytest.mark.slow
@pytest.mark.parametrize("part", range(3))
def test_killed_at_three_hundred_instants_a_run_goes_on_and_repeats_nothing(
    tmp_path: Path, part: int
) -> None:
    assert kill(tmp_path, "random", 100 + part)["faults"] == []
