"""From the command line to the arguments of a run."""

import argparse
import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from headway_cli.settings import (
    Resolved,
    Source,
    load_env_file,
    place,
    read_config,
    resolve,
    values,
)
from headway_tools.errors import HeadwayError
from headway_tools.home import Home, absolute, default_home

NO_MODEL: Final = (
    "no model: give --model openai:NAME (or scripted:FILE, PROVIDER:NAME) or set HEADWAY_MODEL; "
    "openai: takes OPENAI_API_KEY, and for a server of your own "
    "OPENAI_BASE_URL=http://127.0.0.1:8080/v1; `headway demo` needs none of them"
)


def the_home() -> Home:
    """headway's data folder, which need not exist yet."""
    return Home(default_home()).readable()


def configure(args: argparse.Namespace) -> dict[str, Resolved]:
    """Every setting with its source. Reads `.env` (of the data folder, or `--env-file`) first:
    it never comes from a workspace, where it could redirect the key."""
    given = getattr(args, "env_file", None)
    if given:
        load_env_file(absolute(given), required=True)
    home = the_home()
    load_env_file(home.env_file, required=False)
    return resolve(vars(args), os.environ, read_config(home.config))


def run_options(resolved: Mapping[str, Resolved]) -> dict[str, Any]:
    """The keyword arguments of `headway.run.stream_agent` that settings decide."""
    from headway.limits import WORK

    given = values(resolved)
    if not given["model"]:
        raise HeadwayError(NO_MODEL)
    return {
        "model": given["model"],
        "model_args": given["model_arg"],
        "protocol": given["protocol"],
        "window": given["window"],
        "limits": with_limits(WORK, given["limit"], resolved["limit"].keys),
        "protect": tuple(given["protect"]),
        "check": given["check"],
        "ask": given["ask"],
        "allow": tuple(given["allow"]),
        "on_stop": given["on_stop"],
        "sandbox": given["sandbox"],
        "network": given["network"],
        "hide": tuple(given["hide"]) or None,
        "read_only": tuple(absolute(path) for path in given["ro"]),
        "instructions": read_instructions(resolved["instructions"]),
        "thoughts": given["thoughts"],
    }


def with_limits(
    base: Any, changes: Mapping[str, Any], sources: Mapping[str, Source] | None = None
) -> Any:
    """`base` with the named limits changed; `none` and `off` mean no limit. `sources` says where
    each one was written, else it was a flag."""
    from headway.limits import changed_limits

    known = sources or {}
    return changed_limits(base, changes, lambda name: place("limit", known.get(name, "flag")))


def read_instructions(given: Resolved) -> str:
    """The text of the instructions file, empty without one."""
    if given.value is None:
        return ""
    try:
        return absolute(given.value).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        where = place("instructions", given.source)
        raise HeadwayError(f"cannot read the file of {where}: {error}") from error


def text_of(word: str) -> str:
    """A task or a message from the command line; `-` is what stdin holds."""
    return sys.stdin.read() if word == "-" else word


def workspace_of(path: str) -> Path:
    """The folder to work in, which must exist."""
    if not path:
        raise HeadwayError("-C is empty: give it the folder to work in, or leave it out")
    folder = absolute(path)
    if not folder.is_dir():
        what = "is a file, not a folder" if folder.exists() else "does not exist"
        raise HeadwayError(f"{folder} {what}: give -C the folder to work in")
    return folder
