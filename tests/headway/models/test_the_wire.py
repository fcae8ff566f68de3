"""Failures of the endpoint and of the way to it: what is tried again and what is given up."""

import asyncio
import threading
from typing import Any

import pytest
from wire_support import ASK, ONCE, QUICK, WAYS, ask, opened

from headway.models.call import acall_model
from headway.models.failure import ModelFailure
from headway.models.retry import RetryPolicy
from openai_server import (
    Answer,
    OpenAIServer,
    Reply,
    Request,
    calls,
    fails,
    raw_calls,
    says,
    wire_call,
)
from too_long import TOO_LONG

pytestmark = pytest.mark.parametrize("way", WAYS)


def failure_of(
    *replies: Answer, way: str, retries: RetryPolicy = QUICK, timeout: float = 20
) -> tuple[ModelFailure, list[Request]]:
    with OpenAIServer(replies, repeat=True) as server:
        with pytest.raises(ModelFailure) as caught:
            ask(opened(server.url), way, retries=retries, timeout=timeout)
        return caught.value, server.requests


@pytest.mark.parametrize("header", ["0.001", "0"])
def test_a_rate_limit_is_waited_out_and_shown(way: str, header: str) -> None:
    told: list[dict[str, Any]] = []
    script = [fails(429, "Rate limit reached", retry_after=header), says("ok")]
    with OpenAIServer(script) as server:
        reply = ask(opened(server.url), way, retries=QUICK, notify=told.append)
    assert reply.content == "ok"
    assert [(n["type"], n["kind"], n["attempt"], n["wait"], n["status_code"]) for n in told] == [
        ("model_retry", "rate_limited", 1, float(header), 429)
    ]


@pytest.mark.parametrize(
    "reply",
    [
        fails(429, "Rate limit reached", retry_after="3600"),
        fails(429, "slow down", retry_after="Wed, 01 Jan 2200 00:00:00 GMT"),
        fails(429, "Rate limit reached, please try again in 90m"),
        fails(429, "busy", retry_after_ms="7200000"),
    ],
)
def test_a_wait_beyond_the_cap_ends_the_call(way: str, reply: Reply) -> None:
    failure, requests = failure_of(reply, way=way)
    assert (failure.kind, failure.status_code, len(requests)) == ("rate_limited", 429, 1)
    assert failure.retry_after is not None
    assert failure.retry_after > 60


def test_an_endless_rate_limit_ends_after_the_last_attempt(way: str) -> None:
    failure, requests = failure_of(fails(429, "Too many requests"), way=way)
    assert (failure.kind, failure.attempts, len(requests)) == ("rate_limited", 4, 4)


@pytest.mark.parametrize(
    ("reply", "kind"),
    [
        (fails(429, "You exceeded your current quota", "insufficient_quota"), "quota"),
        (fails(402, "Insufficient Balance"), "quota"),
        (fails(403, "Your credit balance is too low"), "quota"),
        (fails(401, "Incorrect API key provided"), "auth"),
        (fails(403, "Country not supported"), "auth"),
        (fails(400, "Invalid value for temperature"), "invalid_request"),
        (fails(404, "The model does not exist"), "invalid_request"),
        (fails(422, "Unprocessable"), "invalid_request"),
    ],
)
def test_what_no_retry_can_mend_is_asked_once(way: str, reply: Reply, kind: str) -> None:
    failure, requests = failure_of(reply, way=way)
    assert (failure.kind, failure.retryable, len(requests)) == (kind, False, 1)


@pytest.mark.parametrize("vendor", TOO_LONG)
def test_a_request_that_is_too_long_is_recognised(way: str, vendor: str) -> None:
    failure, requests = failure_of(fails(*TOO_LONG[vendor]), way=way)
    assert (failure.kind, len(requests)) == ("context_length", 1)


@pytest.mark.parametrize("status", [413, 500])
def test_other_statuses_for_a_long_request(way: str, status: int) -> None:
    failure, _ = failure_of(fails(status, "input is larger than the context window"), way=way)
    assert failure.kind == "context_length"


@pytest.mark.parametrize(
    "broken",
    [
        fails(500, "The server had an error"),
        fails(503, "Service unavailable", retry_after="0"),
        fails(529, "Overloaded"),
        fails(408, "Request timeout"),
        calls("bash", command="echo half").but(cut=0),
        calls("bash", command="echo half").but(cut=6),
        calls("bash", command="echo half").but(cut=6, unframed=True),
        says("the first half and the second").but(cut=5),
    ],
)
def test_an_outage_is_tried_again_and_leaves_nothing_behind(way: str, broken: Reply) -> None:
    with OpenAIServer([broken, broken, broken, says("whole")]) as server:
        reply = ask(opened(server.url), way, retries=QUICK)
        assert len(server.requests) == 4
    assert (reply.content, reply.tool_calls, reply.invalid_tool_calls) == ("whole", [], [])


def test_a_lasting_outage_is_a_failure_with_its_attempts(way: str) -> None:
    failure, requests = failure_of(fails(503, "down"), way=way)
    assert (failure.kind, failure.attempts, len(requests)) == ("server", 4, 4)
    assert failure.message == "down"


def test_nobody_listening_is_a_connection_failure(way: str) -> None:
    with OpenAIServer([]) as server:
        url = server.url
    with pytest.raises(ModelFailure) as caught:
        ask(opened(url), way, retries=QUICK)
    assert (caught.value.kind, caught.value.attempts) == ("connection", 2)


@pytest.mark.parametrize(
    "slow", [says("a b c d").but(drip=0.05, pieces=1), says("late").but(delay=30)]
)
def test_a_drip_ends_at_the_deadline_and_is_tried_again(way: str, slow: Reply) -> None:
    with OpenAIServer([slow, says("ok")]) as server:
        reply = ask(opened(server.url), way, retries=QUICK, timeout=0.6)
        assert len(server.requests) == 2
    assert reply.content == "ok"


def test_an_endless_drip_is_a_timeout(way: str) -> None:
    slow = says("x" * 4000).but(drip=0.02, pieces=1)
    failure, requests = failure_of(slow, way=way, timeout=0.3)
    assert (failure.kind, failure.attempts, len(requests)) == ("timeout", 2, 2)
    assert failure.message == "no complete reply within 0.3 s"


def test_the_connection_of_an_abandoned_call_is_closed(way: str) -> None:
    before = threading.active_count()
    slow = says("x" * 40000).but(drip=0.01, pieces=1)
    with OpenAIServer([slow], repeat=True) as server:
        with pytest.raises(ModelFailure):
            ask(opened(server.url), way, retries=ONCE, timeout=0.2)
        gone = threading.Event()
        for _ in range(1000):
            if threading.active_count() <= before + 1:
                gone.set()
                break
            gone.wait(0.01)
        assert gone.is_set(), threading.enumerate()


def test_a_cancelled_call_is_not_tried_again(way: str) -> None:
    async def cancelled(url: str) -> None:
        task = asyncio.create_task(acall_model(opened(url), ASK, retries=QUICK))
        await asyncio.sleep(0.2)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    with OpenAIServer([says("late").but(delay=30)], repeat=True) as server:
        asyncio.run(cancelled(server.url))
        assert len(server.requests) <= 1


def test_many_calls_cut_in_a_stream_are_kept_as_written(way: str) -> None:
    entries = [wire_call("bash", f'{{"command": "{n}', f"c{n}") for n in range(3)]
    with OpenAIServer([raw_calls(*entries)]) as server:
        reply = ask(opened(server.url), way)
    raw = reply.additional_kwargs["headway_raw_calls"]
    assert [call["args"] for call in raw] == [f'{{"command": "{n}' for n in range(3)]
