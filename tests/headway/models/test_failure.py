"""Failures of foreign clients, by kind; and the waits between attempts."""

from collections.abc import Callable
from typing import Any

import pytest
from langchain_core.language_models import FakeListChatModel
from langchain_core.messages import AIMessage, BaseMessage
from langchain_openai import ChatOpenAI
from langgraph.errors import GraphInterrupt
from pydantic import SecretStr
from wire_support import ONCE, QUICK, WAYS, ask, bash

from headway.models.failure import ModelFailure, classify
from headway.models.retry import RetryPolicy
from headway.testing import PolicyModel
from headway_tools.errors import HeadwayError
from openai_server import OpenAIServer, Reply, fails, raw_calls, says, sends, wire_call


class Status(Exception):
    """The shape that most clients' errors have."""

    def __init__(self, message: str, status_code: int | None, body: object = None) -> None:
        super().__init__(message)
        self.status_code = status_code
        self.body = body


@pytest.mark.parametrize(
    ("error", "kind", "retryable"),
    [
        (Status("slow down", 429), "rate_limited", True),
        (Status("Overloaded", 529), "server", True),
        (Status("bad key", 401), "auth", False),
        (
            Status(
                "Rate limit reached on tokens per minute (TPM): Limit 6000, Used 5034, Requested "
                "1443. Please try again in 4.77s. Upgrade at https://x.com/settings/billing",
                429,
            ),
            "rate_limited",
            True,
        ),
        (Status("tokens per minute: rate_limit", 413), "rate_limited", True),
        (Status("ThrottlingException: Too many tokens, please wait", 429), "rate_limited", True),
        (
            Status("max_tokens must be at most 9, which is less than the context_window", 400),
            "invalid_request",
            False,
        ),
        (Status("Payload Too Large", 413), "context_length", False),
        (ConnectionResetError("reset by peer"), "connection", True),
        (OSError("no route to host"), "connection", True),
        (TimeoutError(), "timeout", True),
        (TimeoutError("late"), "timeout", True),
        (ValueError("Unterminated string"), "bad_response", True),
        (KeyError("choices"), "bad_response", True),
        (ZeroDivisionError("a bug of the model object"), "bad_response", False),
        (RuntimeError("whatever"), "bad_response", False),
        (ValueError("prompt is too long: 9 tokens"), "context_length", False),
    ],
)
def test_an_exception_has_a_kind(error: Exception, kind: str, retryable: bool) -> None:
    failure = classify(error)
    assert (failure.kind, failure.retryable) == (kind, retryable)
    assert failure.message


def test_a_long_error_text_is_bounded_and_one_line() -> None:
    failure = classify(Status("line\n" * 10_000, 500))
    assert len(failure.message) <= 600
    assert "\n" not in failure.message


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(
    ("reply", "kind"),
    [
        (fails(401, "no"), "auth"),
        (fails(400, "maximum context length is 5"), "context_length"),
        (fails(500, "boom"), "server"),
        (sends('{"choices": []}'), "bad_response"),
        (sends("<html>"), "bad_response"),
    ],
)
def test_the_plain_langchain_client_fails_by_the_same_kinds(
    way: str, reply: Reply, kind: str
) -> None:
    with OpenAIServer([reply], repeat=True) as server:
        model = ChatOpenAI(model="m", api_key=SecretStr("k"), base_url=server.url, max_retries=0)
        with pytest.raises(ModelFailure) as caught:
            ask(model, way, retries=ONCE)
    assert caught.value.kind == kind


@pytest.mark.parametrize("way", ["sync", "async"])
def test_a_list_as_arguments_ends_the_plain_client_by_kind(way: str) -> None:
    with OpenAIServer([raw_calls(wire_call("bash", "[1]")), says("ok")]) as server:
        model = ChatOpenAI(model="m", api_key=SecretStr("k"), base_url=server.url)
        assert ask(model, way, retries=QUICK).content == "ok"


def _raising(error: BaseException) -> PolicyModel:
    def policy(messages: list[BaseMessage], tools: list[dict[str, Any]]) -> AIMessage:
        raise error

    return PolicyModel(policy=policy)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("error", [GraphInterrupt(()), HeadwayError("no network here")])
def test_interrupts_and_advice_for_the_user_pass(way: str, error: Exception) -> None:
    with pytest.raises(type(error)):
        ask(_raising(error), way)


@pytest.mark.parametrize("error", [KeyboardInterrupt(), SystemExit(3)])
def test_a_wish_to_end_the_process_passes(error: BaseException) -> None:
    with pytest.raises(type(error)):
        ask(_raising(error), "sync")


def test_a_model_without_tools_is_named() -> None:
    with pytest.raises(ModelFailure, match="no_tools: FakeListChatModel has no bind_tools"):
        ask(FakeListChatModel(responses=["x"]), "sync", tools=[bash])
    assert ask(FakeListChatModel(responses=["x"]), "sync", tools=[]).content == "x"


@pytest.mark.parametrize("way", ["sync", "async"])
def test_a_model_that_hangs_is_left_at_the_deadline(way: str) -> None:
    import threading

    release = threading.Event()

    def policy(messages: list[BaseMessage], tools: list[dict[str, Any]]) -> AIMessage:
        release.wait(20)
        return AIMessage("late")

    threading.Timer(0.6, release.set).start()
    with pytest.raises(ModelFailure) as caught:
        ask(PolicyModel(policy=policy), way, timeout=0.1, retries=ONCE)
    assert (caught.value.kind, caught.value.message) == (
        "timeout",
        "no complete reply within 0.1 s",
    )


def failure(kind: Any = "server", **fields: Any) -> ModelFailure:
    return ModelFailure(kind, "m", retryable=True, **fields)


def _bounded(wait: float | None, low: float, high: float) -> bool:
    return wait is not None and low <= wait <= high


@pytest.mark.parametrize(
    ("given", "attempt", "timeouts", "expected"),
    [
        (failure(), 1, 0, lambda wait: _bounded(wait, 0.75, 1.25)),
        (failure(), 3, 0, lambda wait: _bounded(wait, 3, 5)),
        (failure(), 4, 0, lambda wait: wait is None),
        (failure(retry_after=7.0), 1, 0, lambda wait: wait == 7),
        (failure(retry_after=61.0), 1, 0, lambda wait: wait is None),
        (failure("timeout"), 1, 1, lambda wait: _bounded(wait, 0.75, 1.25)),
        (failure("timeout"), 2, 2, lambda wait: wait is None),
        (ModelFailure("auth", "m"), 1, 0, lambda wait: wait is None),
    ],
)
def test_waits_follow_the_policy(
    given: ModelFailure,
    attempt: int,
    timeouts: int,
    expected: Callable[[float | None], bool],
) -> None:
    assert expected(RetryPolicy().wait(given, attempt, timeouts))
