"""Keys of the host: which variables hold them, which may be handed on, and masking in texts."""

import base64
import json
import re
from collections.abc import Iterable, Mapping
from typing import Final
from urllib.parse import quote, quote_plus

MINIMUM_LENGTH: Final = 8
"""Shorter values are too likely to be ordinary words."""

MASK: Final = "[secret]"

_SECRET_NAME = re.compile(
    r"(?:^|_)(?:API_?KEY|KEY|TOKEN|SECRET|PASSWORD|PASSWD|PASSPHRASE|PASS|PWD|CREDENTIALS?|AUTH|PAT"
    r"|DSN|COOKIE|SIGNATURE|WEBHOOK)S?(?:_|$)|APIKEY|SECRET|PASSWORD|TOKEN$",
    re.IGNORECASE,
)
_ADDRESS_WITH_PASSWORD = re.compile(r"^[a-z][a-z0-9+.-]*://[^/\s:@]*:([^/\s@]+)@", re.IGNORECASE)
_NO_SECRETS = frozenset({"PWD", "OLDPWD"})
_ORDINARY = re.compile(r"true|false|(?:/[\w.-]+)+/?|\d+", re.IGNORECASE)

_ALLOWED = frozenset(
    {"TZ", "LANGUAGE", "NODE_ENV", "SOURCE_DATE_EPOCH", "MAKEFLAGS"}
    | {"JAVA_HOME", "JDK_HOME", "GOROOT", "GOTOOLCHAIN", "GOFLAGS"}
    | {"RUSTUP_TOOLCHAIN", "PYENV_VERSION"}
    | {"CC", "CXX", "CFLAGS", "CXXFLAGS", "LDFLAGS", "PKG_CONFIG_PATH"}
)


def host_secrets(environ: Mapping[str, str]) -> tuple[str, ...]:
    """Values of the variables that are named like secrets, and passwords inside addresses.

    Values shorter than `MINIMUM_LENGTH`, plain paths, numbers and booleans are none.
    """
    found: set[str] = set()
    for name, value in environ.items():  # once: os.environ decodes what it is asked for
        if _SECRET_NAME.search(name) and name not in _NO_SECRETS:
            found.add(value)
        if "://" in value and (match := _ADDRESS_WITH_PASSWORD.match(value)):
            found.add(match[1])
    return tuple(sorted(value for value in found if _is_secret(value)))


def allowed_environment(environ: Mapping[str, str]) -> dict[str, str]:
    """The host's variables that commands may see: locale, time zone and toolchain choices."""
    return {
        name: value
        for name, value in environ.items()
        if name in _ALLOWED and not _ADDRESS_WITH_PASSWORD.match(value)
    }


class Masker:
    """Replaces secret values, and their usual encodings, in any text in one pass.

    Values that are ordinary words are left alone: the key `x` of a local server is no secret.
    """

    def __init__(self, values: Iterable[str]) -> None:
        forms = {form for value in values if _is_secret(value) for form in _forms(value)}
        longest_first = sorted(forms, key=lambda form: (-len(form), form))
        pattern = "|".join(re.escape(form) for form in longest_first)
        self._pattern = re.compile(pattern) if forms else None

    def mask(self, text: str) -> str:
        """`text` with each occurrence replaced by `[secret]`."""
        return self._pattern.sub(MASK, text) if self._pattern else text


def _is_secret(value: str) -> bool:
    return len(value) >= MINIMUM_LENGTH and not _ORDINARY.fullmatch(value)


def _forms(value: str) -> set[str]:
    """The value as it is, in JSON, in an address, in hexadecimal and in base64."""
    data = value.encode("utf-8", "surrogateescape")
    plain = {value, json.dumps(value)[1:-1], json.dumps(value, ensure_ascii=False)[1:-1]}
    quoted = {quote(data, safe=""), quote_plus(data), quote(data)}
    return plain | quoted | {data.hex(), data.hex().upper()} | _base64_forms(data)


def _base64_forms(data: bytes) -> set[str]:
    """What base64 of any longer text with `data` in it contains, for each of the three phases."""
    forms = set()
    for phase in range(3):
        encoded = base64.b64encode(b"\0" * phase + data).rstrip(b"=").decode()
        inner = encoded[(0, 2, 3)[phase] :]
        inner = inner[:-1] if (phase + len(data)) % 3 else inner
        if len(inner) >= MINIMUM_LENGTH:
            forms |= {inner, inner.replace("+", "-").replace("/", "_")}
    return forms
