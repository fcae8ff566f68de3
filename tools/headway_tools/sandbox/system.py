"""What of the host's /etc commands see: folders as mounts, small files as copies.

A list of what programs need to start, to find libraries, names and certificates; a mount costs
ten times as much as a copied file.
"""

import contextlib
from collections.abc import Mapping
from pathlib import Path
from typing import Final

ETC: Final = Path("/etc")

_FOLDERS: Final = "alternatives ssl ca-certificates pki crypto-policies"
_LANGUAGES: Final = ("python3*", "java-*")
"""Where distributions keep files that their Python and Java need."""

_FILES: Final = """
    ld.so.cache ld.so.conf nsswitch.conf localtime timezone mime.types protocols services magic
    os-release debian_version gai.conf host.conf login.defs bash.bashrc profile
"""
_NETWORK_FILES: Final = "resolv.conf hosts"
_HOSTS: Final = b"127.0.0.1 localhost sandbox\n::1 localhost sandbox\n"


def system_folders() -> tuple[Path, ...]:
    """Folders of /etc to show read-only."""
    found = [ETC / name for name in _FOLDERS.split() if (ETC / name).is_dir()]
    for pattern in _LANGUAGES:
        found += sorted(path for path in ETC.glob(pattern) if path.is_dir())
    return tuple(found)


def system_files(identity: tuple[int, int], home: str, *, network: bool) -> Mapping[str, bytes]:
    """Files of /etc inside, by name: ours for users and hosts, copies of the host's otherwise."""
    uid, gid = identity
    agent = f"agent:x:{uid}:{gid}::{home}:/bin/bash\n"
    others = "root:x:0:0::/root:/bin/false\n", "nobody:x:65534:65534::/nonexistent:/bin/false\n"
    files = {"hosts": _HOSTS, "passwd": (others[0] + agent + others[1]).encode()}
    for name in (_FILES + _NETWORK_FILES if network else _FILES).split():
        with contextlib.suppress(OSError):
            files[name] = (ETC / name).read_bytes()
    return files
