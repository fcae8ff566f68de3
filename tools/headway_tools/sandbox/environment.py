"""The environment of commands: a list of our own, never the host's with some names taken out."""

from collections.abc import Mapping
from typing import Final

from headway_tools.secrets import allowed_environment

_NO_QUESTIONS: Final = {
    "CI": "1",
    "DEBIAN_FRONTEND": "noninteractive",
    "EDITOR": "false",
    "VISUAL": "false",
    "GIT_EDITOR": "false",
    "GIT_SEQUENCE_EDITOR": "false",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_ASKPASS": "false",
    "SSH_ASKPASS": "false",
    "SSH_ASKPASS_REQUIRE": "never",
    "GIT_SSH_COMMAND": "ssh -oBatchMode=yes",
    "GIT_PAGER": "cat",
    "PAGER": "cat",
    "MANPAGER": "cat",
    "SYSTEMD_PAGER": "cat",
    "PIP_NO_INPUT": "1",
    "PIP_DISABLE_PIP_VERSION_CHECK": "1",
    "npm_config_yes": "true",
    "npm_config_update_notifier": "false",
}
_PLAIN_OUTPUT: Final = {"TERM": "dumb", "NO_COLOR": "1", "LANG": "C.UTF-8"}
_OFFLINE: Final = {"PIP_RETRIES": "0", "UV_OFFLINE": "1", "npm_config_offline": "true"}


def command_environment(
    host: Mapping[str, str],
    toolchains: Mapping[str, str],
    *,
    home: str,
    tmp: str,
    path: str,
    network: bool,
) -> dict[str, str]:
    """Variables inside: no prompt, no pager, no colour, and Python output that a time-out keeps."""
    own = {
        "HOME": home,
        "PATH": path,
        "SHELL": "/bin/bash",
        "TMPDIR": tmp,
        "USER": "agent",
        "LOGNAME": "agent",
        "PYTHONUNBUFFERED": "1",
    }
    offline = {} if network else _OFFLINE
    return {
        **allowed_environment(host),
        **_NO_QUESTIONS,
        **_PLAIN_OUTPUT,
        **offline,
        **toolchains,
        **own,
    }
