"""As whom a command runs: as the user, or, where that is root, as the workspace's owner.

For root bwrap can map root alone, and root without capabilities cannot write another user's
files. So a user namespace is prepared that knows root and the owner: bwrap makes its mounts in
it as root, then the command becomes the owner, and the namespace allows no further ones.
"""

import os
import pwd
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from headway_tools.errors import SandboxError
from headway_tools.sandbox.arguments import Identity

ROOT_INSIDE: Final = (1000, 1000)
"""Host root appears under this id: as uid 0 inside, `tar x` tries to change owners and fails."""

_ALLOW_NO_MORE: Final = "echo 0 >/proc/sys/user/max_user_namespaces"


@dataclass(frozen=True)
class SwitchingIdentity:
    """`shown` is for bwrap's arguments; `prefix` goes before the command."""

    shown: Identity
    prefix: tuple[str, ...] = ()
    owner: tuple[int, int] | None = None
    """(uid, gid) that private files must belong to, where it is not the user's own."""

    @property
    def pass_fds(self) -> tuple[int, ...]:
        return () if self.shown.namespace is None else (self.shown.namespace,)


def identity_for(root: Path) -> SwitchingIdentity:
    """The identity for commands in the workspace at `root`. The caller closes `namespace`."""
    if os.geteuid() != 0:
        return SwitchingIdentity(Identity((os.geteuid(), os.getegid())))
    found = root.stat()
    if found.st_uid == 0:
        return SwitchingIdentity(Identity(ROOT_INSIDE, is_host_root=True))
    owner = (found.st_uid, _group_of(found.st_uid, found.st_gid))
    tools = {name: shutil.which(name) for name in ("unshare", "nsenter", "setpriv")}
    missing = sorted(name for name, path in tools.items() if path is None)
    if missing:
        raise SandboxError(
            f"{root} belongs to user {owner[0]} and {missing[0]} is not installed: "
            "run headway as that user, or install util-linux"
        )
    return SwitchingIdentity(
        Identity(owner, namespace=_make_namespace(owner)), _become(owner), owner
    )


def _group_of(uid: int, fallback: int) -> int:
    try:
        return pwd.getpwuid(uid).pw_gid
    except KeyError:
        return fallback


def _become(owner: tuple[int, int]) -> tuple[str, ...]:
    uid, gid = map(str, owner)
    switch = ("--reuid", uid, "--regid", gid, "--clear-groups", "--inh-caps=-all")
    return ("/usr/bin/setpriv", *switch, "--")


def _make_namespace(owner: tuple[int, int]) -> int:
    """A descriptor of a user namespace with root and `owner` in it, and no further namespaces."""
    holder = ["unshare", "--user", "/bin/sh", "-c", "echo; read _"]
    with subprocess.Popen(holder, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        try:
            if process.stdout is None or not process.stdout.readline():
                raise SandboxError("this host refuses user namespaces: see `headway doctor`")
            for kind, number in zip(("uid", "gid"), owner, strict=True):
                known = sorted({0, number})
                text = "".join(f"{one} {one} 1\n" for one in known)
                Path(f"/proc/{process.pid}/{kind}_map").write_text(text)
            namespace = os.open(f"/proc/{process.pid}/ns/user", os.O_RDONLY | os.O_CLOEXEC)
        except OSError as error:
            raise SandboxError(
                f"cannot work as user {owner[0]}, who owns the workspace ({error.strerror}): "
                "run headway as that user"
            ) from error
        finally:
            process.kill()
    enter = ["nsenter", f"--user=/proc/self/fd/{namespace}", "/bin/sh", "-c", _ALLOW_NO_MORE]
    done = subprocess.run(enter, pass_fds=(namespace,), capture_output=True, check=False)
    if done.returncode:
        os.close(namespace)
        raise SandboxError("cannot forbid further user namespaces: run headway as the owner")
    return namespace
