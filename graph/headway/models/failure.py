"""Why a model call failed, as one of eleven kinds, from whatever a client library raises.

Read by duck typing (`status_code`, `response`, `body`, the text), so that any provider's client is
understood; vendors' wordings are matched where their status codes are ambiguous.
"""

import asyncio
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from ipaddress import ip_address
from time import time
from typing import Any, Final, Literal

from headway_tools.values import bounded, clean_text

FailureKind = Literal[
    "rate_limited",
    "quota",
    "auth",
    "invalid_request",
    "context_length",
    "no_tools",
    "server",
    "connection",
    "timeout",
    "bad_response",
    "script_end",
]
"""`script_end`: a scripted model has no reply left."""

RETRYABLE: Final[frozenset[FailureKind]] = frozenset(
    {"rate_limited", "server", "connection", "timeout", "bad_response"}
)


@dataclass(eq=False)
class ModelFailure(Exception):
    """A model call that failed for good (or one attempt of it)."""

    kind: FailureKind
    message: str
    retryable: bool = False
    attempts: int = 1
    status_code: int | None = None
    retry_after: float | None = None
    """Seconds that the server asked to wait."""
    refused: bool = False
    """Nobody listens at this address of the machine itself, where waiting seldom helps."""
    billed: bool = False
    """The reply had begun, or may have: a provider charges for it, though it never arrived."""

    def __str__(self) -> str:
        status = f" (HTTP {self.status_code})" if self.status_code else ""
        return f"{self.kind}{status}: {self.message}"


class BadReply(Exception):
    """The endpoint answered with success, but not with a completion: `message` says what came.

    `status_code` is that of an error object inside the body, where it names one.
    """

    def __init__(self, message: str, status_code: int | None = None, body: object = None) -> None:
        super().__init__(message)
        self.status_code = status_code
        self.body = body


class Dropped(ConnectionError):
    """The connection ended in the middle of a reply."""


CONTEXT_WORDS = re.compile(
    r"context[_ ]length|(?<!less than the )context[_ ]window|context size|context limit|"
    r"maximum context|prompt (?:is )?too long|input (?:is )?too long|"
    r"too many (?:input )?tokens(?!, please wait)|range of input length|"
    r"(?:input|prompt) token count|maximum prompt length|max(?:imum)?[_ ]prompt[_ ]tok|"
    r"reduce the length|exceeded model token limit|\bn_ctx\b|"
    r"exceeds? (?:the )?(?:maximum|max)[\w ]* (?:length|tokens)|"
    r"maximum (?:input|number of(?: input)?) (?:length|tokens)|longer than the (?:maximum )?model|"
    r"tokens in request more than max|larger than the maximum|exceeds? .{0,40}token limit|"
    r"tokens`? \+ `?max_new_tokens`? must be|must have less than \d+ tokens",
    re.IGNORECASE,
)
_OVERSIZED = re.compile(r"request too large for|tokens must be reduced in order to run", re.I)
"""It alone takes more tokens than a minute allows: waiting never helps."""

_NO_TOOLS = re.compile(
    r"\b(?:tools?|functions?)(?:[ _-](?:use|using|calls?|calling|choice|param\w*))?\W{0,3}"
    r"(?:(?:is|are)\W)?(?:not (?:supported|available|allowed|enabled|implemented)|unsupported|"
    r"requires? (?:the )?-)|"
    r"\b(?:not|n't|no endpoints found that) support (?:for )?\W?(?:the )?(?:use of )?(?:any )?"
    r"(?:native )?(?:tools?|functions?)\b|"
    r"\b(?:unknown|unrecognized|unexpected|unsupported|extra|invalid|additional)\b.{0,60}\W"
    r"tools\b(?!\[|\.\d)|"
    r"\btools\b\W.{0,40}(?:extra inputs|not permitted|unexpected|unrecognized|unknown field)",
    re.IGNORECASE,
)
_QUOTA = re.compile(
    r"insufficient[_ ](?:quota|balance|credits?|funds)|exceeded your current quota|(?<!/)billing|"
    r"credit balance|out of credits|quota exhausted|payment required|"
    r"余额不足|欠费",
    re.IGNORECASE,
)
_RATE = re.compile(r"rate[_ -]?limit|too many requests|tokens per min|requests per min", re.I)
_OVERLOADED = re.compile(r"overloaded|server_error|internal|unavailable|bad gateway", re.I)
_AUTH = re.compile(r"api key|authentication|unauthorized|invalid_api_key", re.I)
_WAIT = re.compile(r"(?:try again|retry)\D{0,20}(\d+(?:\.\d+)?)\s*(ms|s|m)\b", re.IGNORECASE)


def classify(error: BaseException) -> ModelFailure:
    """One attempt's exception as a `ModelFailure` with its kind, and whether to try again."""
    if isinstance(error, ModelFailure):
        return error
    text = _text(error)
    status = _status(error)
    kind = _kind(error, status, text)
    return ModelFailure(
        kind=kind,
        message=bounded(" ".join(clean_text(text).split()), 600) or type(error).__name__,
        retryable=kind in RETRYABLE and (kind != "bad_response" or _misread(error)),
        status_code=status,
        retry_after=_retry_after(error, text) if kind in ("rate_limited", "server") else None,
        refused=_refused(error),
        billed=kind == "timeout" or (kind == "connection" and not _unreached(error)),
    )


def _misread(error: BaseException) -> bool:
    """Whether a client stumbled over what an endpoint sent, which may be better the next time."""
    stumbled = BadReply | ValueError | LookupError | TypeError | AttributeError
    return isinstance(error, stumbled) or type(error).__name__ == "DecodingError"


def _unreached(error: BaseException) -> bool:
    """Whether no answer had begun."""
    names = {cls.__name__ for cls in type(error).__mro__}
    return bool(names & {"APIConnectionError", "ConnectError"}) or isinstance(
        error, ConnectionRefusedError
    )


def _kind(error: BaseException, status: int | None, text: str) -> FailureKind:
    if status is None or status < 300 or isinstance(error, BadReply):
        return _kind_without_status(error, status, text)
    return _kind_of_status(status, text)


def _kind_of_status(status: int, text: str) -> FailureKind:
    if 300 <= status < 400:
        return "invalid_request"
    if _OVERSIZED.search(text):
        return "context_length"
    if _RATE.search(text) and status in (413, 429):
        return "quota" if _QUOTA.search(text) else "rate_limited"
    if status == 413 or (status != 429 and CONTEXT_WORDS.search(text)):
        return "context_length"
    if status in (402, 403, 429) and _QUOTA.search(text):
        return "quota"
    if status not in (401, 403, 407, 408, 429) and _NO_TOOLS.search(text):
        return "no_tools"
    table: dict[int, FailureKind] = {
        401: "auth",
        402: "quota",
        403: "auth",
        407: "auth",
        408: "server",
        409: "server",
        425: "server",
        429: "rate_limited",
    }
    return table.get(status, "invalid_request" if 400 <= status < 500 else "server")


def _kind_without_status(error: BaseException, status: int | None, text: str) -> FailureKind:
    if status is not None and 300 <= status < 600:
        return _kind_of_status(status, text)
    names = {cls.__name__ for cls in type(error).__mro__}
    if isinstance(error, TimeoutError | asyncio.TimeoutError) or any("Timeout" in n for n in names):
        return "timeout"
    if isinstance(error, OSError) or names & {"APIConnectionError", "TransportError"}:
        return "connection"
    too_long = CONTEXT_WORDS.search(text) or _OVERSIZED.search(text)
    if "ContextOverflowError" in names or too_long:
        return "context_length"
    body = getattr(error, "body", None)
    if body is None and not isinstance(error, BadReply):
        return "bad_response"
    if _QUOTA.search(text):
        return "quota"
    if _RATE.search(text):
        return "rate_limited"
    if _AUTH.search(text):
        return "auth"
    return "server" if body is not None or _OVERLOADED.search(text) else "bad_response"


def _status(error: BaseException) -> int | None:
    for value in (
        getattr(error, "status_code", None),
        getattr(getattr(error, "response", None), "status_code", None),
    ):
        if isinstance(value, int):
            return value
    return None


def _text(error: BaseException) -> str:
    """What the server said: the body's message, code and type, else the exception's own text."""
    body = getattr(error, "body", None)
    if isinstance(body, Mapping):
        inner = body.get("error", body)
        if isinstance(inner, Mapping):
            parts = [inner.get(key) for key in ("message", "code", "type", "detail", "msg")]
            said = " ".join(dict.fromkeys(str(part) for part in parts if part))
            if said:
                return said
    return _unreachable(error) or str(error)


def _unreachable(error: BaseException) -> str:
    """Which host could not be reached and why: a client's own text is "Connection error."."""
    url = _url(error)
    if type(error).__name__ != "APIConnectionError" or url is None:
        return ""
    why = _reason(error)
    said = os.strerror(why.errno) if isinstance(why, ConnectionError) and why.errno else why
    return f"{url.scheme}://{url.netloc.decode()} cannot be reached: {said}"


def _url(error: BaseException) -> Any:
    return getattr(getattr(error, "request", None), "url", None)


def _reason(error: BaseException) -> BaseException:
    """The operating system's error below a client's, else the deepest one."""
    while not (isinstance(error, OSError) and error.errno):
        inner = error.__cause__ or error.__context__
        if isinstance(error, BaseExceptionGroup):
            inner = error.exceptions[0]
        if inner is None:
            break
        error = inner
    return error


def _refused(error: BaseException) -> bool:
    """Whether this machine itself refused the connection."""
    if not isinstance(_reason(error), ConnectionRefusedError):
        return False
    host = str(getattr(_url(error), "host", ""))
    try:
        return host == "localhost" or ip_address(host).is_loopback
    except ValueError:
        return False


def _retry_after(error: BaseException, text: str) -> float | None:
    headers: Any = getattr(getattr(error, "response", None), "headers", None) or {}
    if (milliseconds := _number(headers.get("retry-after-ms"))) is not None:
        return milliseconds / 1000
    value = headers.get("retry-after")
    if (seconds := _number(value)) is not None:
        return seconds
    if value:
        try:
            return max(0.0, parsedate_to_datetime(value).timestamp() - time())
        except (ValueError, TypeError):
            return None
    if found := _WAIT.search(text):
        return float(found[1]) * {"ms": 0.001, "s": 1.0, "m": 60.0}[found[2].lower()]
    return None


def _number(value: object) -> float | None:
    try:
        number = float(str(value))
    except ValueError:
        return None
    return number if 0 <= number < 1e9 else None
