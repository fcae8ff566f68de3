"""Why this host cannot isolate commands, in one line with what mends it."""

import re
from typing import Final

_UBUNTU: Final = (
    "allow bubblewrap in AppArmor (`sudo apt install bubblewrap apparmor-profiles`), or "
    "`sudo sysctl kernel.apparmor_restrict_unprivileged_userns=0`"
)

_CAUSES: Final[tuple[tuple[str, str, str], ...]] = (
    (
        r"max_user_namespaces|max_\*_namespaces|ENOSPC|No space left on device",
        "user namespaces are switched off or used up",
        "`sudo sysctl user.max_user_namespaces=15000`; not possible inside another sandbox",
    ),
    (
        r"Resource temporarily unavailable|Can't fork|Cannot allocate memory",
        "the host is at its limit of processes or memory",
        "try again when it is less busy, or raise `ulimit -u`",
    ),
    (
        r"Can't mount proc|Too revealing",
        "this container masks /proc",
        "start the container with `--security-opt systempaths=unconfined` (Docker)",
    ),
    (
        r"make / slave|Failed to mount|pivot_root|mount tmpfs",
        "this container forbids mounts",
        "start the container with `--security-opt seccomp=unconfined` (and `apparmor=unconfined`)",
    ),
    (
        r"setting up uid map|uid_map|RTM_NEWADDR",
        "AppArmor takes the rights of user namespaces away",
        _UBUNTU,
    ),
    (
        r"No permissions to create new namespace|non-privileged user namespaces|"
        r"Creating new namespace failed: Operation not permitted",
        "unprivileged user namespaces are not allowed here",
        "`sudo sysctl kernel.unprivileged_userns_clone=1`; on Ubuntu "
        + _UBUNTU
        + "; in Docker start the container with `--security-opt seccomp=unconfined`",
    ),
    (
        r"execvp /bin/bash|/bin/bash: No such file",
        "bash is not installed",
        "install bash",
    ),
)


def cause_of(message: str) -> tuple[str, str] | None:
    """(cause, fix) for what bwrap said; None if it is none of the known ones."""
    for pattern, cause, fix in _CAUSES:
        if re.search(pattern, message):
            return cause, fix
    return None


def explain(message: str) -> str:
    """One line: what bwrap said, why, and what mends it."""
    said = " ".join(message.split())[:300]
    known = cause_of(message)
    if known is None:
        return f"the sandbox could not be set up: {said}; see `headway doctor`"
    return f"commands cannot be isolated here: {known[0]} ({said}); {known[1]}"
