"""Values of the host's keys do not pass, in any of their usual forms."""

import base64
import json
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headway_tools.secrets import Masker, allowed_environment, host_secrets

VALUE = "sk-live/0f1e+2d3c=4b5a"


@pytest.mark.parametrize(
    "name",
    ["OPENAI_API_KEY", "GITHUB_TOKEN", "AWS_SECRET_ACCESS_KEY", "DB_PASSWORD", "NPM_AUTH",
     "apikey", "GH_PAT", "SENTRY_DSN", "SLACK_WEBHOOK_URL", "GOOGLE_CREDENTIALS"],
)  # fmt: skip
def test_variables_named_like_secrets(name: str) -> None:
    assert host_secrets({name: VALUE}) == (VALUE,)
    assert name not in allowed_environment({name: VALUE})


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("PWD", "/home/somebody"),
        ("EDITOR", "some-long-editor"),
        ("API_KEY", "short"),
        ("SSH_AUTH_SOCK", "/tmp/ssh-1/agent.2"),
        ("USE_TOKEN_CACHE", "true"),
        ("TOKEN_COUNT", "1234567890"),
        ("MONKEY_PATCH", "enabled-here"),
    ],
)
def test_ordinary_variables_are_none(name: str, value: str) -> None:
    assert host_secrets({name: value}) == ()


def test_a_password_in_an_address_is_one() -> None:
    address = "postgres://user:hunter2hunter2@db/prod"
    assert host_secrets({"DATABASE_URL": address}) == ("hunter2hunter2",)


def test_only_listed_variables_are_handed_on() -> None:
    environ = {"TZ": "UTC", "LD_PRELOAD": "x", "PYTHONPATH": "/x", "MAKEFLAGS": "-j2", "HOME": "/"}
    assert allowed_environment(environ) == {"TZ": "UTC", "MAKEFLAGS": "-j2"}


@pytest.mark.parametrize(
    "form",
    [
        VALUE,
        quote(VALUE, safe=""),
        VALUE.encode().hex(),
        json.dumps({"key": VALUE}),
        base64.b64encode(VALUE.encode()).decode(),
        base64.urlsafe_b64encode(b"user:" + VALUE.encode() + b"\n").decode(),
    ],
)
def test_each_form_is_masked(form: str) -> None:
    masked = Masker([VALUE]).mask(f"before {form} after")
    assert "[secret]" in masked
    assert form not in masked
    assert masked.startswith("before ")
    assert masked.endswith(" after")


@given(st.binary(max_size=40), st.binary(max_size=40))
def test_base64_is_masked_wherever_the_value_stands(before: bytes, after: bytes) -> None:
    text = base64.b64encode(before + VALUE.encode() + after).decode()
    assert "[secret]" in Masker([VALUE]).mask(text)


@given(st.text(max_size=200))
def test_other_text_stays(text: str) -> None:
    assert Masker([]).mask(text) == text
    if VALUE not in text:
        assert Masker([VALUE]).mask(text) == text


def test_the_longer_value_is_masked_as_a_whole() -> None:
    assert Masker(["abcdefgh", "abcdefgh-ijkl"]).mask("abcdefgh-ijkl") == "[secret]"
