"""Long tasks in a small context window, judged by what reached the server."""

import json
from itertools import pairwise
from pathlib import Path

import pytest
from cli_support import Headway

from openai_server import OpenAIServer, Reply, Request, calls, says

WINDOW = 8_000
TASK = "Zähle alle Teile.\n\n  Keep data/ as it is; say “done” at the end.\t" * 3


class Counter:
    """A model's place: counts parts by commands of `size` bytes, some of which change a file."""

    def __init__(self, steps: int, size: int) -> None:
        self.steps, self.size, self.asked = steps, size, 0

    def __call__(self, request: Request) -> Reply:
        number, self.asked = self.asked, self.asked + 1
        if number == self.steps:
            return says("All parts are counted: done.")
        if number % 8 == 2:
            text = f"part {number}\n"
            return calls("edit", f"c{number}", path=edited(number), old_text="", new_text=text)
        command = f"echo {number}; head -c {self.size} /dev/urandom | base64 -w 90"
        change = f"echo {number} > {written(number)}; " if number % 8 == 5 else ""
        return calls("bash", f"c{number}", command=change + command)

    def changed(self, before: int) -> list[str]:
        """Files that the steps before this one changed."""
        numbers = range(min(before, self.steps))
        edits = [edited(number) for number in numbers if number % 8 == 2]
        return edits + [written(number) for number in numbers if number % 8 == 5]


def edited(number: int) -> str:
    return f"notes/part-{number}.md"


def written(number: int) -> str:
    return f"by-command-{number}.txt"


def prefix(request: Request) -> bytes:
    """The body up to the end of its last message."""
    return request.data[: request.data.rindex(b'],"stream_options"')]


@pytest.mark.parametrize(
    ("steps", "size"),
    [
        (12, 100_000),
        pytest.param(40, 600, marks=pytest.mark.slow),
        pytest.param(100, 100_000, marks=pytest.mark.slow),
    ],
)
def test_a_long_task_is_done_in_8000_tokens_and_each_request_holds_the_task_and_the_changed_files(
    headway: Headway, workspace: Path, monkeypatch: pytest.MonkeyPatch, steps: int, size: int
) -> None:
    model = Counter(steps, size)
    check = " && ".join(f"test -s {path}" for path in model.changed(steps))
    with OpenAIServer(model) as server:
        monkeypatch.setenv("OPENAI_API_KEY", "loopback")
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        where = ("-C", str(workspace), "--model", "openai:m", "--window", str(WINDOW))
        done = headway(
            "run", TASK, *where, "--check", check, "--limit", f"model_calls={steps + 2}", "--jsonl"
        )
    events = [json.loads(line) for line in done.out.splitlines()]
    notes = [e for e in events if e["type"] == "note" and e["about"] == "context"]
    breaks = [
        not later.data.startswith(prefix(earlier)) for earlier, later in pairwise(server.requests)
    ]
    assert (done.code, events[-1]["outcome"]["verified"]) == (0, True)
    assert len(server.requests) == steps + 1
    assert not server.refused, "each call is answered, in order"
    assert 0 < sum(breaks) == len(notes) <= steps
    for number, request in enumerate(server.requests):
        assert next(m for m in request.messages if m["role"] == "user")["content"] == TASK
        assert all(path in request.data.decode() for path in model.changed(number))
        assert len(request.data) < 3 * WINDOW
