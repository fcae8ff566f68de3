"""Where a setting comes from: flag, else environment, else `config.toml`, else default.

Every value keeps its source, for `headway doctor`. A flag that equals the default still wins.
"""

import json
import os
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, Literal

from headway_tools.errors import HeadwayError

Source = Literal["flag", "environment", "config file", "default"]
Kind = Literal["text", "number", "switch", "list", "table"]

PREFIX: Final = "HEADWAY_"
_SWITCH: Final = {
    "1": True,
    "true": True,
    "yes": True,
    "on": True,
    "0": False,
    "false": False,
    "no": False,
    "off": False,
}


@dataclass(frozen=True)
class Setting:
    """A name that is `--name`, `HEADWAY_NAME` and `name = …` in config.toml."""

    name: str
    kind: Kind
    default: Any = None
    choices: tuple[str, ...] = ()


@dataclass(frozen=True)
class Resolved:
    """A value and where it comes from."""

    value: Any
    source: Source
    keys: Mapping[str, Source] = field(default_factory=dict)
    """Of a table: where each key comes from."""


SETTINGS: Final = (
    Setting("model", "text"),
    Setting("model_arg", "table", {}),
    Setting("protocol", "text", "auto", ("auto", "native", "text")),
    Setting("window", "number"),
    Setting("limit", "table", {}),
    Setting("protect", "list", []),
    Setting("check", "text"),
    Setting("ask", "text", "never", ("never", "edits", "all")),
    Setting("allow", "list", []),
    Setting("on_stop", "text", "return", ("return", "ask")),
    Setting("sandbox", "text", "bubblewrap", ("bubblewrap", "none")),
    Setting("network", "switch", False),
    Setting("hide", "list", []),
    Setting("ro", "list", []),
    Setting("instructions", "text"),
    Setting("thoughts", "switch", False),
)


def place(name: str, source: Source) -> str:
    """Where a value of the setting `name` was written, for a message about it."""
    if source == "flag":
        return "--" + name.replace("_", "-")
    return PREFIX + name.upper() if source == "environment" else f"{name} in config.toml"


def resolve(
    flags: Mapping[str, Any], environ: Mapping[str, str], config: Mapping[str, Any]
) -> dict[str, Resolved]:
    """Each setting with its source. `flags` holds None for what was not given; tables are merged
    key by key, the stronger source first."""
    _refuse_unknown(config)
    return {setting.name: _one(setting, flags, environ, config) for setting in SETTINGS}


def values(resolved: Mapping[str, Resolved]) -> dict[str, Any]:
    """Only the values."""
    return {name: found.value for name, found in resolved.items()}


def read_config(path: Path) -> dict[str, Any]:
    """`config.toml` as a dict, empty where there is none."""
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {}
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise HeadwayError(f"cannot read {path}: {error}; mend it or move it away") from error


def load_env_file(path: Path, *, required: bool) -> None:
    """Put the variables of a `.env` file into the environment; what is set already stays."""
    if not path.is_file():
        if required:
            raise HeadwayError(f"no file {path}: give --env-file a file of NAME=VALUE lines")
        return
    from dotenv import dotenv_values

    try:
        found = dotenv_values(path, interpolate=False)
    except (OSError, UnicodeDecodeError) as error:
        raise HeadwayError(f"cannot read {path}: {error}; mend it or move it away") from error
    for name, value in found.items():
        if value is not None:
            os.environ.setdefault(name, value)


def parse_pairs(pairs: list[str], *, option: str) -> dict[str, Any]:
    """`NAME=VALUE` words as a dict; a value is JSON where it is valid JSON, else text."""
    table: dict[str, Any] = {}
    for pair in pairs:
        name, equals, value = pair.partition("=")
        if not equals or not name:
            raise HeadwayError(f"{option} takes NAME=VALUE, not {pair!r}")
        table[name] = _json_or_text(value)
    return table


def _json_or_text(value: str) -> Any:
    try:
        return json.loads(value)
    except ValueError:
        return value


def _one(
    setting: Setting,
    flags: Mapping[str, Any],
    environ: Mapping[str, str],
    config: Mapping[str, Any],
) -> Resolved:
    raw: list[tuple[Source, Any]] = []
    if flags.get(setting.name) is not None:
        raw.append(("flag", flags[setting.name]))
    if text := environ.get(PREFIX + setting.name.upper()):
        raw.append(("environment", _words(setting, text)))
    if setting.name in config:
        raw.append(("config file", config[setting.name]))
    given = [
        Resolved(_parse(setting, value, place(setting.name, source)), source)
        for source, value in raw
    ]
    if not given:
        return Resolved(setting.default, "default")
    if setting.kind == "table":
        weakest_first = given[::-1]
        merged = {key: value for found in weakest_first for key, value in found.value.items()}
        keys: dict[str, Source] = {
            key: found.source for found in weakest_first for key in found.value
        }
        return Resolved(merged, given[0].source, keys)
    return given[0]


def _words(setting: Setting, text: str) -> Any:
    """A variable's text in the form that a flag has: lists by `:`, tables by white space."""
    if setting.kind == "list":
        return text.split(os.pathsep)
    return text.split() if setting.kind == "table" else text


def _parse(setting: Setting, raw: Any, where: str) -> Any:
    if setting.kind == "table":
        return _table(raw, where)
    if setting.kind == "number":
        return _number(raw, where)
    if setting.kind == "switch":
        return _switch(raw, where)
    if setting.kind == "list":
        if isinstance(raw, list) and all(isinstance(item, str) for item in raw):
            return raw
        raise HeadwayError(f"{where} takes a list of texts, not {raw!r}")
    if not isinstance(raw, str):
        raise HeadwayError(f"{where} takes a text, not {raw!r}")
    if setting.choices and raw not in setting.choices:
        raise HeadwayError(f"{where} takes {', '.join(setting.choices)}, not {raw!r}")
    return raw


def _table(raw: Any, where: str) -> dict[str, Any]:
    if isinstance(raw, dict):
        return raw
    if isinstance(raw, list):
        return parse_pairs(raw, option=where)
    raise HeadwayError(f"{where} takes a table, not {raw!r}")


def _number(raw: Any, where: str) -> int:
    number = int(raw) if isinstance(raw, str) and raw.isdecimal() else raw
    if type(number) is int and number > 0:
        return number
    raise HeadwayError(f"{where} takes a whole number above 0, not {raw!r}")


def _switch(raw: Any, where: str) -> bool:
    if isinstance(raw, bool):
        return raw
    if isinstance(raw, str) and raw.lower() in _SWITCH:
        return _SWITCH[raw.lower()]
    raise HeadwayError(f"{where} takes true or false, not {raw!r}")


def _refuse_unknown(config: Mapping[str, Any]) -> None:
    names = [setting.name for setting in SETTINGS]
    for name in config:
        if name not in names:
            known = ", ".join(names)
            raise HeadwayError(f"config.toml has no setting {name!r}; it has {known}")
