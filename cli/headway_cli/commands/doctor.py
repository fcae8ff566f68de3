"""`headway doctor`: each setting with its source, and what commands could see and do here."""

import argparse
import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from headway.limits import WORK
from headway.status import USAGE_ERROR
from headway_cli.options import configure, the_home, with_limits
from headway_cli.output import SCHEMA_VERSION, dumps
from headway_cli.settings import PREFIX, Resolved
from headway_cli.streams import put
from headway_cli.terminal import one_line
from headway_tools.errors import HeadwayError
from headway_tools.given import check_workspace
from headway_tools.home import Home, absolute
from headway_tools.sandbox import (
    DEFAULT_HIDE,
    SandboxPolicy,
    capabilities,
    probe,
    visible_folders,
)

ENDPOINT: Final = ("OPENAI_API_KEY", "OPENAI_BASE_URL", "OPENAI_API_BASE")
SWITCHED_OFF: Final = "switched off: commands run as you, with all your files and the network"
NO_MODEL: Final = "none: give --model openai:NAME, or set HEADWAY_MODEL"


def run(args: argparse.Namespace) -> int:
    """Print the findings; 2 if commands cannot be isolated here or nothing can be kept, else 0."""
    before = dict(os.environ)
    resolved = configure(args)
    found = {
        "works": works(resolved),
        "data": data(before),
        "settings": settings(resolved, before),
        "limits": limits(resolved["limit"], before),
        "endpoint": {name: endpoint(name, before, os.environ) for name in ENDPOINT},
        "workspace": workspace(Path.cwd(), resolved),
        "sandbox": sandbox(),
    }
    put(dumps({"schema_version": SCHEMA_VERSION, **found}) if args.json else as_text(found))
    return 0 if probe().ok and found["works"]["data"] == "yes" else USAGE_ERROR


def works(resolved: Mapping[str, Resolved]) -> dict[str, str]:
    """What a run needs: `yes`, or the line that mends it. A model may still be named for a run."""
    isolation = probe()
    state = "yes" if isolation.ok else f"no: {isolation.line}"
    return {
        "sandbox": state if _confined(resolved) else SWITCHED_OFF,
        "workspace": _usable(Path.cwd()),
        "data": _writable(the_home()),
        "model": str(resolved["model"].value or NO_MODEL),
    }


def _confined(resolved: Mapping[str, Resolved]) -> bool:
    return bool(resolved["sandbox"].value != "none")


def _usable(folder: Path) -> str:
    try:
        check_workspace(folder, data_home=the_home().path)
    except HeadwayError as error:
        return f"no: {error}"
    return "yes"


def _writable(home: Home) -> str:
    try:
        home.writable()
    except HeadwayError as error:
        return f"no: {error}"
    return "yes"


def data(environ: Mapping[str, str]) -> dict[str, str]:
    """The files of headway's data folder."""
    home = the_home()
    return {
        "folder": str(home.path),
        "source": "environment" if environ.get("HEADWAY_HOME") else "default",
        "threads": _presence(home.checkpoints),
        "config": _presence(home.config),
        "env_file": _presence(home.env_file),
    }


def settings(resolved: Mapping[str, Resolved], before: Mapping[str, str]) -> dict[str, Any]:
    """Each setting with its source, keys masked; limits have a table of their own."""
    shown = {name: found.value for name, found in resolved.items() if name != "limit"}
    shown["hide"] = shown["hide"] or list(DEFAULT_HIDE)
    shown["model_arg"] = {name: _shown(name, value) for name, value in shown["model_arg"].items()}
    return {
        name: {"value": value, "source": _source(name, resolved[name].source, before)}
        for name, value in shown.items()
    }


def _source(setting: str, source: str, before: Mapping[str, str]) -> str:
    """A variable that was not there `before` came from a `.env` file."""
    from_file = source == "environment" and PREFIX + setting.upper() not in before
    return ".env file" if from_file else source


def limits(given: Resolved, before: Mapping[str, str]) -> dict[str, Any]:
    """Each limit of a run with its source; None is off."""
    return {
        name: {
            "value": value,
            "source": _source("limit", given.keys.get(name, "default"), before),
        }
        for name, value in with_limits(WORK, given.value, given.keys).model_dump().items()
    }


def endpoint(name: str, before: Mapping[str, str], now: Mapping[str, str]) -> dict[str, Any]:
    """A variable of the endpoint, keys masked; it may come from a `.env` file."""
    value = now.get(name)
    source = "environment" if name in before else ".env file" if value else "default"
    return {"value": _shown(name, value), "source": source}


def _shown(name: str, value: Any) -> Any:
    """A value without keys: of variables named like one, and of addresses."""
    if value and re.search("key|token|secret|password", name, re.IGNORECASE):
        return "set, not shown"
    return re.sub(r"//[^/@]*@", "//…@", value) if isinstance(value, str) else value


def workspace(folder: Path, resolved: Mapping[str, Resolved]) -> dict[str, Any]:
    """What a command could see and change in a run in `folder`."""
    if not _confined(resolved):
        everything = "all that is yours"
        return {"writes": everything, "reads": everything, "network": everything}
    read_only = tuple(absolute(path) for path in resolved["ro"].value)
    policy = SandboxPolicy(folder, folder, the_home().path, read_only=read_only)
    seen = visible_folders(policy) if _usable(folder) == "yes" else ()
    return {
        "writes": [str(folder)],
        "reads": ["/usr", "parts of /etc", *map(str, seen)],
        "network": "all that is yours" if resolved["network"].value else "none",
    }


def sandbox() -> dict[str, Any]:
    """Whether commands can be isolated here, and which limits hold."""
    isolation, held = probe(), capabilities()
    return {
        "works": isolation.ok,
        "cause": isolation.cause or None,
        "fix": isolation.fix or None,
        "holds": {found.name: found.detail for found in held if found.held},
        "does_not_hold": {found.name: found.detail for found in held if not found.held},
    }


def as_text(found: Mapping[str, Any]) -> str:
    """The findings for people, one block each."""
    blocks = {
        "does it work": found["works"],
        "data": found["data"],
        "settings": _sourced(found["settings"]),
        "limits of a run": _sourced(found["limits"]),
        "endpoint": _sourced(found["endpoint"]),
        "commands in this folder": found["workspace"],
        "the sandbox holds": found["sandbox"]["holds"],
        "it does not hold": found["sandbox"]["does_not_hold"],
    }
    return "\n\n".join(_block(title, rows) for title, rows in blocks.items() if rows)


def _sourced(entries: Mapping[str, Any]) -> dict[str, str]:
    return {name: f"{_told(e['value'])} ({e['source']})" for name, e in entries.items()}


def _block(title: str, rows: Mapping[str, Any]) -> str:
    width = max(map(len, rows)) + 2
    return "\n".join([title, *(f"  {name:<{width}}{_told(value)}" for name, value in rows.items())])


def _told(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if value is None or value == [] or value == {}:
        return "-"
    if isinstance(value, float):
        return f"{value:g}"
    if isinstance(value, Mapping):
        return one_line(" ".join(f"{key}={item}" for key, item in value.items()))
    return one_line(" ".join(value) if isinstance(value, list) else str(value))


def _presence(path: Path) -> str:
    return str(path) if path.exists() else f"{path} (none)"
