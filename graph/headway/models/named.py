"""From `provider:model` to a chat model, with one line of advice where that cannot work."""

import os
from difflib import get_close_matches
from typing import Any, Final
from urllib.parse import urlsplit

from langchain_core.language_models import BaseChatModel
from pydantic import SecretStr, ValidationError

from headway.extras import how_to_install
from headway.testing import ScriptedModel
from headway_tools.errors import HeadwayError
from headway_tools.home import absolute

SCRIPTED: Final = "scripted"
OURS: Final = ("openai", SCRIPTED)
ALIKE: Final = 0.75
"""How near to a name of ours a mistyped one is; azure_openai is another provider, at 0.67."""
_LOCAL: Final = "http://127.0.0.1:8080/v1"


def open_model(
    name: str,
    *,
    base_url: str | None = None,
    api_key: str | None = None,
    model_args: dict[str, Any] | None = None,
    timeout: float | None = None,
) -> BaseChatModel:
    """Open the model `name`.

    `openai:NAME` (or NAME alone) is any OpenAI-compatible chat completions endpoint; `base_url`
    else OPENAI_API_BASE else OPENAI_BASE_URL says where. `scripted:FILE` plays a JSON-lines
    script. Other providers are LangChain's, from the extra `providers`.

    Args:
        name: `provider:model`.
        base_url: Of the endpoint, up to and with `/v1`.
        api_key: Else OPENAI_API_KEY.
        model_args: More arguments of the chat model (temperature, max_tokens, extra_body, …).
        timeout: Seconds that one read may take; the deadline of a call is `call_model`'s.

    Raises:
        HeadwayError: names what to set or install.
    """
    provider, colon, rest = name.partition(":")
    if provider == SCRIPTED and not rest:
        raise HeadwayError("scripted: names no file: write scripted:FILE")
    if provider == SCRIPTED:
        return ScriptedModel.from_file(absolute(rest))
    if provider == "openai" or not rest:
        return _open_openai(
            rest if colon else provider, base_url, api_key, model_args or {}, timeout
        )
    return _open_other(name, base_url, api_key, model_args or {})


def _open_openai(
    model: str,
    base_url: str | None,
    api_key: str | None,
    args: dict[str, Any],
    timeout: float | None,
) -> BaseChatModel:
    url = base_url or os.environ.get("OPENAI_API_BASE") or os.environ.get("OPENAI_BASE_URL")
    key = api_key or os.environ.get("OPENAI_API_KEY")
    if not model:
        raise HeadwayError("no model name: write openai:NAME, for example openai:gpt-5-mini")
    if not key:
        raise HeadwayError(
            f"no API key for openai:{model}: set OPENAI_API_KEY (for a local server any value, "
            f"with OPENAI_BASE_URL={_LOCAL}); a model is openai:NAME, scripted:FILE or "
            "PROVIDER:NAME; `headway demo` needs no key"
        )
    if url and not _is_address(url):
        raise HeadwayError(f"the base URL {url!r} is no http:// or https:// address like {_LOCAL}")
    options: dict[str, Any] = {
        "use_responses_api": False,
        "max_retries": 0,
        "stream_usage": True,
        "timeout": timeout,
        **args,
    }
    from headway.models.openai import OpenAIModel

    try:
        return OpenAIModel(model=model, api_key=SecretStr(key), base_url=url, **options)
    except ValidationError as error:
        wrong = "; ".join(f"{'.'.join(map(str, e['loc']))}: {e['msg']}" for e in error.errors())
        raise HeadwayError(f"model arguments of openai:{model}: {wrong}") from error
    except (ValueError, TypeError) as error:
        raise HeadwayError(f"model arguments of openai:{model}: {error}") from error


def _is_address(url: str) -> bool:
    try:
        parts = urlsplit(url)
        return parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        return False


def _open_other(
    name: str, base_url: str | None, api_key: str | None, args: dict[str, Any]
) -> BaseChatModel:
    provider, _, model_name = name.partition(":")
    if near := get_close_matches(provider, OURS, 1, ALIKE):
        raise HeadwayError(f"{name}: did you mean {near[0]}:{model_name}?")
    try:
        from langchain.chat_models import init_chat_model
    except ImportError as error:
        raise HeadwayError(
            f"{name}: other providers need the extra `providers` and the provider's package: "
            f"{how_to_install('providers', f'langchain-{provider}')}; any OpenAI-compatible "
            "endpoint works as openai:NAME with OPENAI_BASE_URL"
        ) from error
    given = {"base_url": base_url, "api_key": api_key}
    options: dict[str, Any] = {key: value for key, value in given.items() if value} | args
    try:
        model: BaseChatModel = init_chat_model(name, **options)
    except ImportError as error:
        raise HeadwayError(f"{name}: {error}") from error
    except Exception as error:
        said = " ".join(str(error).split())
        if "infer model provider" in said:
            said = (
                f"LangChain has no provider {provider!r}; a model is openai:NAME (at any "
                "OpenAI-compatible server), scripted:FILE or PROVIDER:NAME"
            )
        raise HeadwayError(f"{name}: {said}") from error
    return model
