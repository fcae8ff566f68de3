"""From a policy to a sandbox that works, or one line that says why not."""

import os
import tempfile
import weakref
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Final

from headway_tools.errors import SandboxError
from headway_tools.sandbox.arguments import HOME, SHOWN
from headway_tools.sandbox.bubblewrap import BubblewrapSandbox
from headway_tools.sandbox.causes import cause_of, explain
from headway_tools.sandbox.environment import command_environment
from headway_tools.sandbox.identity import identity_for
from headway_tools.sandbox.locate import Bubblewrap, find_bubblewraps
from headway_tools.sandbox.mounts import repository_of_worktree
from headway_tools.sandbox.policy import Sandbox, SandboxKind, SandboxPolicy
from headway_tools.sandbox.private import PrivateFolder, make_private_folder, search_path
from headway_tools.sandbox.protected import ProtectedFiles, Protection
from headway_tools.sandbox.toolchains import Forbidden, Toolchains, find_toolchains
from headway_tools.sandbox.unconfined import UnconfinedSandbox
from headway_tools.sandbox.wrapper import start_file

_PLACES: Final = (Path(HOME), Path(SHOWN, "start"), Path("/proc/self"), Path("/dev/null"))
"""Inside, these are the sandbox's own; a workspace above one of them would cover it."""


@dataclass(frozen=True)
class Probe:
    """Whether commands can be isolated here. `line` is the one line for the user if not."""

    ok: bool
    bwrap: Bubblewrap | None = None
    cause: str = ""
    fix: str = ""
    line: str = ""


def open_sandbox(policy: SandboxPolicy, kind: SandboxKind = "bubblewrap") -> Sandbox:
    """The sandbox for `policy`; `SandboxError` before anything runs if it cannot be had."""
    if not policy.root.is_dir():
        raise SandboxError(f"the workspace {policy.root} is not a folder")
    if kind == "none":
        return _unconfined(policy)
    bwrap = probe().bwrap
    if bwrap is None:
        raise SandboxError(probe().line)
    return _confined(policy, bwrap, os.environ)


def visible_folders(policy: SandboxPolicy) -> tuple[Path, ...]:
    """Host folders that commands see read-only besides the system's: toolchains and `read_only`."""
    return (*_toolchains(policy, os.environ).folders, *policy.read_only)


def require_isolation() -> None:
    """`SandboxError` with the one line that mends it, where commands cannot be isolated."""
    if not probe().ok:
        raise SandboxError(probe().line)


@cache
def probe() -> Probe:
    """Try the real arguments with `true`, once per process."""
    message = ""
    for bwrap in find_bubblewraps():
        try:
            _try(bwrap)
        except SandboxError as error:
            message = message or str(error)
        else:
            return Probe(True, bwrap)
    if not message:
        fix = "`sudo apt install bubblewrap` (Debian, Ubuntu) or `sudo dnf install bubblewrap`"
        line = f"bubblewrap is not installed: {fix}"
        return Probe(False, None, "bubblewrap is not installed", fix, line)
    cause, fix = cause_of(message) or (message, "see docs/security.md")
    return Probe(False, None, cause, fix, message)


def _try(bwrap: Bubblewrap) -> None:
    with tempfile.TemporaryDirectory(prefix="headway-probe-") as folder:
        root = Path(folder, "workspace")
        root.mkdir()
        policy = SandboxPolicy(root, root, Path(folder, "private"))
        result = _confined(policy, bwrap, {}).run("true", timeout=30)
    if result.exit_code != 0:
        raise SandboxError(explain(result.stderr or "`true` failed in the sandbox"))


def _confined(policy: SandboxPolicy, bwrap: Bubblewrap, host: Mapping[str, str]) -> Sandbox:
    if covered := [place for place in _PLACES if policy.path in place.parents]:
        raise SandboxError(
            f"workspace {policy.path} would cover the sandbox's own {covered[0].parent}: "
            "choose a folder below it, or pass --sandbox none"
        )
    identity = identity_for(policy.root)
    private = _private(policy, "bubblewrap", identity.owner)
    toolchains = _toolchains(policy, host)
    environment = command_environment(
        host,
        toolchains.variables,
        home=HOME,
        tmp="/tmp",
        path=search_path(Path(SHOWN), toolchains.search_path),
        network=policy.network,
    )
    protection = _protection(policy, private, mounts=True)
    sandbox = BubblewrapSandbox(
        policy, bwrap, private, toolchains, identity, environment, protection
    )
    for fd in identity.pass_fds:
        weakref.finalize(sandbox, os.close, fd)
    return sandbox


def _unconfined(policy: SandboxPolicy) -> Sandbox:
    private = _private(policy, "none", None)
    toolchains = _toolchains(policy, os.environ)
    environment = command_environment(
        os.environ,
        toolchains.variables,
        home=str(private.home),
        tmp=str(private.tmp),
        path=search_path(private.shown, toolchains.search_path),
        network=True,
    )
    return UnconfinedSandbox(
        policy, private, environment, _protection(policy, private, mounts=False)
    )


def _private(
    policy: SandboxPolicy, kind: SandboxKind, owner: tuple[int, int] | None
) -> PrivateFolder:
    start = start_file(policy.limits, count_processes=kind == "bubblewrap")
    return make_private_folder(policy.private, start, owner)


def _protection(policy: SandboxPolicy, private: PrivateFolder, *, mounts: bool) -> Protection:
    files = ProtectedFiles(
        policy.root, policy.protect, private.protected, hide=policy.hide, mounts=mounts
    )
    return Protection(files)


def _toolchains(policy: SandboxPolicy, host: Mapping[str, str]) -> Toolchains:
    forbidden = Forbidden((Path.home(), *policy.never_seen, policy.root, policy.path))
    found = find_toolchains(host, policy.root, policy.path, forbidden)
    repository = repository_of_worktree(policy.root, policy.path)
    if repository is None or not forbidden.allows(repository):
        return found
    return replace(found, folders=(*found.folders, repository))
