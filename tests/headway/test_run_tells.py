"""What a run tells besides its outcome, and the keys that it never tells."""

from pathlib import Path

import pytest

from headway import Limits, run_agent, stream_agent
from headway.models.retry import RetryPolicy
from headway_tools.errors import HeadwayError
from openai_server import OpenAIServer, Reply, fails, says
from policies import bash, call, replies


def test_events_tell_the_run_in_order(workspace: Path) -> None:
    events = list(stream_agent("x", model=replies(bash("true"), "ok"), workspace=workspace))
    kinds = [event["type"] for event in events if event["type"] != "token"]
    assert kinds == ["start", "call", "observation", "end"]


@pytest.mark.parametrize(
    ("task", "options", "says"),
    [
        (None, {}, "give a task"),
        ("  ", {}, "empty"),
        ("x", {"model": None}, "--model"),
        ("x", {"workspace": "/nonexistent/folder"}, "nonexistent"),
        ("x", {"check": "true"}, "workspace"),
        (
            "x",
            {"window": 200},
            "a window of 200 tokens is too small: .* alone take about [2-9]..",
        ),
        ("x", {"window": 0}, "window takes a number of tokens above 0"),
    ],
)
def test_wrong_use_is_one_line_before_any_model_call(
    task: str | None, options: dict, says: str
) -> None:
    given = {"model": replies("never asked"), **options}
    with pytest.raises(HeadwayError, match=says):
        run_agent(task, **given)


def test_a_key_of_the_host_never_reaches_model_journal_or_trace(
    workspace: Path, own_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-test-123456789")
    (workspace / "leak.txt").write_text("key: sk-test-123456789\n")
    model = replies([bash("env; cat leak.txt"), call("read_file", "r1", path="leak.txt")], "ok")
    result = run_agent("x", model=model, workspace=workspace, check="cat leak.txt; false")
    assert "sk-test-123456789" not in result.model_dump_json()
    written = [
        path.read_bytes() for path in own_home.rglob("*.sqlite*") if "snapshots" not in str(path)
    ]
    assert written
    assert not any(b"sk-test-123456789" in data for data in written)


def test_a_refused_key_is_named_as_the_cause_and_never_quoted(
    own_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-test-123456789")
    refused = fails(401, "Incorrect API key provided: sk-test-123456789", "invalid_api_key")
    with OpenAIServer([refused]) as server:
        result = run_agent("x", model="openai:m", base_url=server.url)
    assert result.status == "model_error"
    assert "Incorrect API key" in result.missing
    assert "OPENAI_API_KEY" in result.next_step
    assert "sk-test-123456789" not in result.model_dump_json()
    stored = [path.read_bytes() for path in own_home.rglob("*.sqlite*")]
    assert not any(b"sk-test-123456789" in data for data in stored)


@pytest.mark.parametrize(
    ("reply", "said", "advice"),
    [
        (says("x" * 400).but(cut=3), "", "the server answers, but its replies break off"),
        (says("late").but(delay=30), "no complete reply within 0.3 s", "larger model_timeout"),
    ],
)
def test_the_advice_after_a_failed_call_fits_what_the_server_did(
    monkeypatch: pytest.MonkeyPatch, reply: Reply, said: str, advice: str
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-test-123456789")
    with OpenAIServer([reply], repeat=True) as server:
        result = run_agent(
            "x",
            model="openai:m",
            base_url=server.url,
            limits=Limits(model_timeout=0.3),
            retries=RetryPolicy(attempts=1),
            memory=True,
        )
    assert result.status == "model_error"
    assert said in result.missing
    assert advice in result.next_step


def test_waiting_for_another_try_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-test-123456789")
    with OpenAIServer([fails(503, "busy"), says("here")]) as server:
        events = list(
            stream_agent(
                "x", model="openai:m", base_url=server.url, retries=RetryPolicy(first_wait=0.01)
            )
        )
    assert [e["text"] for e in events if e["type"] == "note" and e["about"] == "retry"]
    assert events[-1]["outcome"]["answer"] == "here"
