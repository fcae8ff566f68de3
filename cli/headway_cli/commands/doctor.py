"""`headway doctor`: each setting with its source, and whether commands can be isolated here."""

import argparse
import os
from collections.abc import Mapping, Sequence
from typing import Any, Final

from headway.status import USAGE_ERROR
from headway_cli.options import configure, the_home
from headway_cli.output import SCHEMA_VERSION, dumps
from headway_cli.settings import Resolved
from headway_cli.terminal import one_line
from headway_tools.sandbox import Capability, Probe, capabilities, probe

KEYS: Final = ("OPENAI_API_KEY", "OPENAI_API_BASE", "OPENAI_BASE_URL")


def run(args: argparse.Namespace) -> int:
    """Print the findings; 0 if the sandbox works, else 2."""
    isolation = probe()
    found = findings(configure(args), isolation, capabilities(), os.environ)
    print(dumps({"schema_version": SCHEMA_VERSION, **found}) if args.json else as_text(found))
    return 0 if isolation.ok else USAGE_ERROR


def findings(
    resolved: Mapping[str, Resolved],
    isolation: Probe,
    held: Sequence[Capability],
    environ: Mapping[str, str],
) -> dict[str, Any]:
    """Plain data: `data`, `settings`, `endpoint` (keys masked), `sandbox`."""
    home = the_home()
    return {
        "data": {
            "folder": str(home.path),
            "threads": str(home.checkpoints),
            "config": _presence(home.config.exists(), str(home.config)),
            "env_file": _presence(home.env_file.exists(), str(home.env_file)),
        },
        "settings": {
            name: {"value": found.value, "source": found.source} for name, found in resolved.items()
        },
        "endpoint": {name: _shown(name, environ.get(name)) for name in KEYS},
        "sandbox": {
            "works": isolation.ok,
            "cause": isolation.cause or None,
            "fix": isolation.fix or None,
            "holds": {found.name: found.detail for found in held if found.held},
            "does_not_hold": {found.name: found.detail for found in held if not found.held},
        },
    }


def as_text(found: Mapping[str, Any]) -> str:
    """The findings for people, one block each."""
    settings = {
        name: f"{_told(entry['value'])} ({entry['source']})"
        for name, entry in found["settings"].items()
    }
    sandbox = found["sandbox"]
    state = {name: sandbox[name] for name in ("works", "cause", "fix") if sandbox[name] is not None}
    blocks = {
        "data": found["data"],
        "settings": settings,
        "endpoint": found["endpoint"],
        "sandbox": state,
        "the sandbox holds": sandbox["holds"],
        "it does not hold": sandbox["does_not_hold"],
    }
    return "\n\n".join(_block(title, rows) for title, rows in blocks.items() if rows)


def _block(title: str, rows: Mapping[str, Any]) -> str:
    width = max(map(len, rows)) + 2
    return "\n".join([title, *(f"  {name:<{width}}{_told(value)}" for name, value in rows.items())])


def _told(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if value is None or value == [] or value == {}:
        return "-"
    if isinstance(value, Mapping):
        return one_line(" ".join(f"{key}={item}" for key, item in value.items()))
    return one_line(" ".join(value) if isinstance(value, list) else str(value))


def _presence(exists: bool, path: str) -> str:
    return path if exists else f"{path} (none)"


def _shown(name: str, value: str | None) -> str | None:
    return "set, not shown" if value and name.endswith("KEY") else value
