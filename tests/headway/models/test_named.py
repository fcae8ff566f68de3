"""Opening a model by name, and the one line of advice where that fails."""

import asyncio
import socket
import sys

import pytest
from langchain_openai import AzureChatOpenAI
from openai import APIConnectionError

from headway.models.failure import ModelFailure, classify
from headway.models.named import open_model
from headway.models.openai import OpenAIModel
from headway.models.retry import RetryPolicy
from headway_tools.errors import HeadwayError


@pytest.fixture(autouse=True)
def _no_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("OPENAI_API_KEY", "OPENAI_API_BASE", "OPENAI_BASE_URL", "OPENAI_PROXY"):
        monkeypatch.delenv(name, raising=False)


@pytest.mark.parametrize(
    ("name", "options", "words"),
    [
        ("openai:gpt-5-mini", {}, ["OPENAI_API_KEY", "OPENAI_BASE_URL=http", "headway demo"]),
        ("openai:", {"api_key": "k"}, ["openai:NAME"]),
        ("openai:m", {"api_key": "k", "base_url": "localhost:80"}, ["no http:// or https://"]),
        ("openai:m", {"api_key": "k", "base_url": "http://h:99999"}, ["no http:// or https://"]),
        ("scripted:", {}, ["scripted:FILE"]),
        ("openai:m", {"api_key": "k", "model_args": {"temperature": "hot"}}, ["temperature"]),
        ("nobody:m", {}, ["nobody:m", "no provider 'nobody'", "openai:NAME", "scripted:FILE"]),
        ("qwen3:8b", {}, ["no provider 'qwen3'", "openai:NAME"]),
        (":m", {}, ["no provider ''", "openai:NAME"]),
        ("script:a.jsonl", {}, ["did you mean scripted:a.jsonl?"]),
        ("opneai:m", {}, ["did you mean openai:m?"]),
        ("anthropic:claude", {}, ["anthropic"]),
        ("scripted:/no/such/file", {}, ["cannot read the script"]),
    ],
)
def test_each_failure_says_what_to_do(
    name: str, options: dict[str, object], words: list[str]
) -> None:
    with pytest.raises(HeadwayError) as caught:
        open_model(name, **options)  # type: ignore[arg-type]
    assert all(word in str(caught.value) for word in words), caught.value
    assert "\n" not in str(caught.value)


def test_the_environment_names_key_and_url(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-env")
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:9/v1")
    model = open_model("openai:qwen3:8b", model_args={"temperature": 0.5, "max_tokens": 7})
    assert isinstance(model, OpenAIModel)
    assert (model.model_name, model.openai_api_base) == ("qwen3:8b", "http://127.0.0.1:9/v1")
    assert (model.temperature, model.max_tokens, model.use_responses_api) == (0.5, 7, False)
    assert "sk-env" not in repr(model)


def test_arguments_go_before_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-env")
    monkeypatch.setenv("OPENAI_API_BASE", "http://127.0.0.1:9/v1")
    model = open_model("gpt-5-mini", base_url="http://127.0.0.1:8/v1", api_key="sk-mine")
    assert isinstance(model, OpenAIModel)
    assert model.openai_api_base == "http://127.0.0.1:8/v1"


def test_a_proxy_setting_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_PROXY", "http://127.0.0.1:3128")
    model = open_model("openai:m", api_key="k", base_url="http://127.0.0.1:8/v1")
    assert isinstance(model, OpenAIModel)
    assert model.openai_proxy == "http://127.0.0.1:3128"


def test_other_providers_are_opened_by_their_own_class() -> None:
    args = {"azure_endpoint": "http://127.0.0.1:9", "api_version": "2024-10-21", "temperature": 0}
    model = open_model("azure_openai:gpt-4o", api_key="sk-mine", model_args=args)
    assert isinstance(model, AzureChatOpenAI)
    assert (model.model_name, model.temperature) == ("gpt-4o", 0)


def test_without_the_extra_one_line_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "langchain.chat_models", None)
    with pytest.raises(
        HeadwayError, match=r"uv tool install '\.\[providers\]' --with langchain-anthropic"
    ):
        open_model("anthropic:claude", api_key="k")


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost"])
@pytest.mark.parametrize("how", ["sync", "async"])
def test_an_address_where_nobody_listens_is_named_with_the_reason(host: str, how: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as closed:
        port = closed.getsockname()[1]
    model = open_model("openai:m", api_key="k", base_url=f"http://{host}:{port}/v1")
    with pytest.raises(APIConnectionError) as caught:
        model.invoke("hello") if how == "sync" else asyncio.run(model.ainvoke("hello"))
    failure = classify(caught.value)
    assert failure.kind == "connection"
    assert failure.message.startswith(f"http://{host}:{port} cannot be reached: ")
    assert "refused" in failure.message
    assert failure.refused


def test_where_nobody_listens_on_this_machine_one_more_try_is_made() -> None:
    here = ModelFailure("connection", "refused", retryable=True, refused=True)
    away = ModelFailure("connection", "refused", retryable=True)
    tries = range(1, RetryPolicy().attempts)
    assert [RetryPolicy().wait(here, n, 0) is not None for n in tries] == [True, False, False]
    assert all(RetryPolicy().wait(away, n, 0) for n in tries)
