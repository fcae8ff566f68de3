"""Whole runs over HTTP: standstill ends within six model calls of its onset, honest work lives."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from langchain_core.tools import BaseTool

from headway import Outcome, run_agent
from headway.models.retry import RetryPolicy
from headway.progress import ProgressSettings
from headway_tools.kinds import declare
from openai_server import OpenAIServer, Reply, Request, calls, fails, raw_calls, says, wire_call

WITHIN = 6
"""Model calls from the onset, which is the first call that could know better."""


def run(make: Callable[[int], Reply], workspace: Path | None = None, **options: Any) -> Outcome:
    """A run in which the n-th request (from 0) is answered by `make(n)`."""
    served = iter(range(10_000))
    quick = RetryPolicy(attempts=4, first_wait=0.01)
    with OpenAIServer(lambda request: make(next(served))) as server:
        result = run_agent(
            "do it", model="openai:m", base_url=server.url, api_key="k", workspace=workspace,
            retries=quick, memory=workspace is None, **options,
        )  # fmt: skip
        assert not server.refused
    return result


def bash(n: int, command: str) -> Reply:
    return calls("bash", f"c{n}", command=command)


def look(n: int, path: str = "a.txt", **more: Any) -> Reply:
    return calls("read_file", f"c{n}", path=path, **more)


def change(n: int, old: str, new: str, path: str = "a.txt") -> Reply:
    return calls("edit", f"c{n}", path=path, old_text=old, new_text=new)


def endless(n: int) -> Reply:
    return bash(n, "cat a.txt")


def respelled(n: int) -> Reply:
    ways = ("cat a.txt", "cat  ./a.txt", "cat 'a.txt'", "cat a.txt 2>&1", "cat a.txt # again")
    return bash(n, ways[n % len(ways)])


def alternating(n: int) -> Reply:
    return look(n) if n % 2 else bash(n, "ls")


def clocked(n: int) -> Reply:
    return bash(n, "date; cat a.txt")


def failing_elsewhere(n: int) -> Reply:
    return look(n, f"missing-{n}.txt")


def unknown_tool(n: int) -> Reply:
    return calls("search_web", f"c{n}", query=f"words {n}")


def malformed(n: int) -> Reply:
    return raw_calls(wire_call("bash", '{"command": "ls', f"c{n}"))


def missing_argument(n: int) -> Reply:
    return calls("read_file", f"c{n}", file=f"a{n}.txt")


def thinking(n: int) -> Reply:
    return calls("think", f"c{n}", thought=f"On the other hand, in the {n}th place, it may be so.")


def six_at_once(n: int) -> Reply:
    entries = [wire_call("read_file", '{"path": "a.txt"}', f"c{n}-{at}") for at in range(6)]
    return raw_calls(*entries)


STUCK = [
    endless, respelled, alternating, clocked, failing_elsewhere, unknown_tool, malformed,
    missing_argument, thinking, six_at_once,
]  # fmt: skip


ONSET: dict[Callable[[int], Reply], int] = {alternating: 2, failing_elsewhere: 1}
"""Honest calls before it: both of the pair, one look for a file."""


@pytest.mark.parametrize("make", STUCK, ids=lambda make: make.__name__)
def test_a_standstill_ends_soon_with_the_evidence(
    workspace: Path, make: Callable[[int], Reply]
) -> None:
    result = run(make, workspace)
    assert result.status == "no_progress"
    assert result.usage.model_calls - ONSET.get(make, 0) <= WITHIN
    assert result.evidence
    assert result.evidence["times"] >= 2
    assert result.evidence.get("call") or result.evidence["rule"] == "monologue"
    assert result.missing


def test_the_model_is_told_before_it_is_stopped(workspace: Path) -> None:
    told: list[str] = []

    def answer(request: Request) -> Reply:
        told.append(str(request.messages[-1]["content"]))
        return endless(len(told))

    with OpenAIServer(answer) as server:
        result = run_agent(
            "do it", model="openai:m", base_url=server.url, api_key="k", workspace=workspace
        )
    noted = [
        json.loads(text)["headway"] for text in told if text.startswith("{") and "headway" in text
    ]
    assert len(noted) == 1
    assert "cat a.txt" in noted[0]
    assert "No progress" in noted[0]
    assert result.status == "no_progress"


def test_a_repair_without_a_new_minimum_ends_while_it_is_still_calling(workspace: Path) -> None:
    suite = "echo '2 failed, 3 passed in 0.1s'; exit 1"

    def make(n: int) -> Reply:
        return bash(n, suite) if n % 2 else bash(n, f"echo 'try {n}' > a.txt")

    result = run(make, workspace)
    assert result.status == "no_progress"
    assert result.evidence
    assert result.evidence["rule"] in ("counter", "repeat", "cycle")
    assert result.usage.model_calls <= 2 * WITHIN, "a round is a change and its check"


def test_a_repair_that_claims_to_be_done_ends_as_check_failed(workspace: Path) -> None:
    def make(n: int) -> Reply:
        return says("Done.") if n % 2 else bash(n, f"echo 'try {n}' > a.txt")

    check = "echo '2 failed, 3 passed in 0.1s'; exit 1"
    result = run(make, workspace, check=check)
    assert (result.status, result.verified, result.usage.model_calls) == ("check_failed", False, 6)
    assert result.evidence == {"rule": "counter", "times": 2, "counter": [2.0, 2.0, 2.0]}
    assert result.best
    assert result.best["count"] == 2


@pytest.mark.parametrize(
    ("text", "status"),
    [("I will now run the tests.", "invalid_answer"), ("", "invalid_answer")],
    ids=["promises", "silence"],
)
def test_a_monologue_in_text_ends_with_what_was_wrong(
    workspace: Path, text: str, status: str
) -> None:
    result = run(lambda n: says(text), workspace)
    assert result.status == status
    assert result.usage.model_calls <= WITHIN
    assert result.evidence
    assert result.evidence["problem"] in ("promise", "empty")


def test_promises_that_are_kept_in_between_do_not_end_the_run(workspace: Path) -> None:
    def make(n: int) -> Reply:
        if n == 8:
            return says("All files are read.")
        return says("I will now run the next command.") if n % 2 else bash(n, f"echo step {n}")

    assert run(make, workspace).status == "completed"


def finishing(steps: list[Reply]) -> Callable[[int], Reply]:
    return lambda n: steps[n] if n < len(steps) else says("That is all of it.")


def jobs(results: Iterator[str], kind: Any = "read") -> BaseTool:
    def job_status(job: int) -> str:
        """How far a job is."""
        return next(results)

    return declare(job_status, kind)


def test_polling_with_changing_results_finishes() -> None:
    tool = jobs(iter([f"running, {n * 7}% done" for n in range(14)]))
    steps = [calls("job_status", f"c{n}", job=3) for n in range(14)]
    result = run(finishing(steps), tools=[tool])
    assert (result.status, result.usage.tool_calls) == ("completed", 14)


def test_a_patient_number_of_equal_polls_finishes_and_an_endless_one_does_not() -> None:
    tool = jobs(iter(["still running"] * 8 + ["done"]), "poll")
    steps = [calls("job_status", f"c{n}", job=3) for n in range(9)]
    assert run(finishing(steps), tools=[tool]).status == "completed"
    never = jobs(iter(["still running"] * 100), "poll")
    result = run(lambda n: calls("job_status", f"c{n}", job=3), tools=[never])
    assert result.status == "no_progress"


def finished(workspace: Path, steps: list[Reply]) -> bool:
    """Whether the run was completed with these replies and the answer, and with no other one."""
    result = run(finishing(steps), workspace)
    return (result.status, result.usage.model_calls) == ("completed", len(steps) + 1)


def test_the_same_edit_on_thirty_files_finishes(workspace: Path) -> None:
    for n in range(30):
        (workspace / f"f{n}.py").write_text("old\n")
    assert finished(workspace, [change(n, "old", "new", f"f{n}.py") for n in range(30)])


def test_reading_and_testing_again_after_each_edit_finishes(workspace: Path) -> None:
    words = ["hello", *(f"word{n}" for n in range(6))]
    steps: list[Reply] = []
    for old, new in zip(words, words[1:], strict=False):
        at = len(steps)
        steps += [change(at, old, new), look(at + 1), bash(at + 2, "echo '1 passed in 0.1s'")]
    assert finished(workspace, steps)


def test_a_slow_improvement_with_plateaus_finishes(workspace: Path) -> None:
    steps: list[Reply] = []
    for failing in (9, 9, 8, 8, 6, 6, 6, 5, 3, 3, 1, 0):
        at = len(steps)
        tests = f"echo '{failing} failed, {20 - failing} passed in 0.{at}s'"
        steps += [bash(at, f"echo 'version {at}' > a.txt"), bash(at + 1, tests)]
    assert finished(workspace, steps)


def test_paging_through_a_long_file_finishes(workspace: Path) -> None:
    (workspace / "long.txt").write_text("".join(f"line {n}\n" for n in range(2000)))
    pages = [look(n, "long.txt", start=1 + 100 * n, limit=100) for n in range(15)]
    assert finished(workspace, pages)


def test_opening_reads_and_batches_finish(workspace: Path) -> None:
    for n in range(24):
        (workspace / f"f{n}.py").write_text(f"value = {n}\n")
    reads = [
        raw_calls(
            *(
                wire_call("read_file", json.dumps({"path": f"f{4 * n + at}.py"}), f"c{n}-{at}")
                for at in range(4)
            )
        )
        for n in range(6)
    ]
    greps = [bash(n, f"grep -n {n} *.py") for n in range(6, 12)]
    assert finished(workspace, [*reads, *greps])


def test_thinking_before_each_step_is_neutral(workspace: Path) -> None:
    steps: list[Reply] = []
    for n in range(0, 24, 3):
        steps += [thinking(n), thinking(n + 1), bash(n + 2, f"echo step {n}")]
    assert finished(workspace, steps)


def test_an_outage_of_the_endpoint_is_waited_out(workspace: Path) -> None:
    def make(n: int) -> Reply:
        if n % 3:
            return fails(503, "overloaded")
        return bash(n, f"echo step {n}") if n < 12 else says("Done.")

    assert run(make, workspace).status == "completed"


def test_an_outage_of_what_a_tool_needs_is_waited_out() -> None:
    answers = iter(["503 Service Unavailable"] * 5 + ["200 OK: 42"])

    def fetch(url: str) -> str:
        """Fetch a page."""
        return next(answers)

    steps = [calls("fetch", f"c{n}", url="http://x") for n in range(6)]
    assert run(finishing(steps), tools=[declare(fetch, "read")]).status == "completed"


def test_strict_ends_at_the_second_signal_and_off_never(workspace: Path) -> None:
    strict = run(endless, workspace, progress=ProgressSettings.preset("strict"))
    assert (strict.status, strict.usage.model_calls) == ("no_progress", 3)
    steps = [endless(n) for n in range(20)]
    off = run(finishing(steps), workspace, progress=ProgressSettings.preset("off"))
    assert off.status == "completed"
