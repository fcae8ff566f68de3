"""Which host folders a command needs to find its programs, where the home is hidden.

Looks at PATH, at the interpreter that runs headway and at the workspace's virtual environments,
and names exactly the folders to show read-only. Never a home, and nothing that holds one.
"""

import os
import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

SYSTEM_PATH: Final = ("/usr/local/sbin", "/usr/local/bin", "/usr/sbin", "/usr/bin", "/sbin", "/bin")

_SYSTEM: Final = ("/usr", "/bin", "/sbin", "/lib", "/lib64")
_STORES: Final = (Path("/nix/store"), Path("/gnu/store"))
_HOLDS_MORE: Final = frozenset({".local", ".cargo", ".config", "go"})
_MAX_LINKS: Final = 400


@dataclass(frozen=True)
class Toolchains:
    """Folders to bind read-only, the inner PATH (without ours), and variables that name them."""

    folders: tuple[Path, ...]
    search_path: tuple[str, ...]
    variables: dict[str, str]


@dataclass(frozen=True)
class Forbidden:
    """What no bind may show: each of these and whatever holds one of them."""

    paths: tuple[Path, ...]

    def allows(self, folder: Path) -> bool:
        return folder != Path("/") and not any(_below(path, (folder,)) for path in self.paths)


def find_toolchains(
    environ: Mapping[str, str], workspace: Path, shown_as: Path, forbidden: Forbidden
) -> Toolchains:
    """The toolchains of `environ`'s PATH for the workspace at `workspace`, named `shown_as`."""
    entries = [Path(entry) for entry in environ.get("PATH", "").split(":") if entry.startswith("/")]
    own = Path(sys.prefix, "bin")
    inside = [entry for entry in entries if _below(entry, (workspace, shown_as))]
    outside = [entry for entry in entries if entry not in inside and entry != own]
    later = [own] if own in entries and own not in inside else []
    foreign = [entry for entry in (*outside, *later) if not is_system(entry) and _reachable(entry)]

    wanted = [*_named_folders(environ), *_interpreters(workspace)]
    for entry in foreign:
        wanted += [entry, prefix_of(entry), *_link_targets(entry)]
    folders = _outermost(
        folder
        for folder in dict.fromkeys(_with_base_interpreters(dict.fromkeys(wanted)))
        if not is_system(folder) and forbidden.allows(folder) and _reachable(folder)
        if not _below(folder, (workspace,))
    )
    shown = [entry for entry in entries if entry in inside or is_system(entry)]
    shown += [entry for entry in foreign if _below(entry, folders)]
    order = {entry: at for at, entry in enumerate([*inside, *outside, *later])}
    ordered = sorted(dict.fromkeys(shown), key=lambda entry: order[entry])
    search_path = dict.fromkeys([*map(str, ordered), *SYSTEM_PATH])
    return Toolchains(tuple(folders), tuple(search_path), _variables(environ, folders))


def is_system(path: Path) -> bool:
    """Below a folder that every sandbox shows anyway."""
    return str(path).startswith(tuple(f"{top}/" for top in _SYSTEM)) or str(path) in _SYSTEM


def prefix_of(folder: Path) -> Path:
    """What belongs to a folder of programs: its parent where that is an installation of its own."""
    parent = folder.parent
    if folder.name == "shims":
        return parent
    is_installation = folder.name in ("bin", "sbin") and _reachable(parent / "lib")
    return parent if is_installation and parent.name not in _HOLDS_MORE else folder


_LIBRARY = "lib/python3*/os.py"


def _reachable(path: Path) -> bool:
    """It exists and may be read. `Path.exists` raises where a folder above may not be entered."""
    return os.access(path, os.R_OK)


def _below(path: Path, tops: Iterable[Path]) -> bool:
    name = f"{path}/"
    return any(name.startswith(f"{str(top).rstrip('/')}/") for top in tops)


def _outermost(folders: Iterable[Path]) -> list[Path]:
    kept: list[Path] = []
    for folder in sorted(set(folders), key=lambda folder: len(folder.parts)):
        if not _below(folder, kept):
            kept.append(folder)
    return kept


def _named_folders(environ: Mapping[str, str]) -> Iterator[Path]:
    """The running interpreter, package stores, and what variables and well-known homes name."""
    yield from _installation(Path(os.path.realpath(sys.base_prefix)))
    yield from (store for store in _STORES if _reachable(store))
    for name in ("JAVA_HOME", "JDK_HOME", "GOROOT"):
        if environ.get(name, "").startswith("/"):
            yield Path(environ[name])
    rustup = Path(environ.get("RUSTUP_HOME") or Path.home() / ".rustup")
    if _reachable(rustup / "toolchains"):
        yield from (rustup / "toolchains", rustup / "settings.toml")


def _interpreters(workspace: Path) -> Iterator[Path]:
    """Python installations that the workspace's virtual environments were made from.

    The workspace is the agent's to write: only what is an installation indeed is shown.
    """
    for pattern in ("pyvenv.cfg", "*/pyvenv.cfg", "*/*/pyvenv.cfg"):
        for config in _found(workspace, pattern):
            yield from _python_installations(config.parent)


def _with_base_interpreters(folders: Iterable[Path]) -> Iterator[Path]:
    for folder in folders:
        yield folder
        yield from _python_installations(folder)


def _python_installations(environment: Path) -> Iterator[Path]:
    """What a virtual environment's `pyvenv.cfg` and its link to an interpreter lead to."""
    try:
        lines = (environment / "pyvenv.cfg").read_text(errors="replace").splitlines()
    except OSError:
        return
    pairs = (line.partition("=") for line in lines)
    homes = [Path(value.strip()) for key, _, value in pairs if key.strip() == "home"]
    steps = [*homes, *(step.parent for step in _steps(environment / "bin" / "python"))]
    for folder in (*steps, *(Path(os.path.realpath(step)) for step in steps)):
        prefix = folder.parent
        if folder.name == "bin" and folder.is_absolute() and any(_found(prefix, _LIBRARY)):
            yield from _installation(prefix)


def _found(folder: Path, pattern: str) -> Iterator[Path]:
    """`glob` that ends where a folder may not be entered or vanishes meanwhile."""
    with suppress(OSError):
        yield from folder.glob(pattern)


def _installation(prefix: Path) -> Iterator[Path]:
    """All of it, or, where it shares its folder with other things (`~/.local`), its own parts."""
    if prefix.name in _HOLDS_MORE:
        yield from (prefix / "bin", prefix / "lib")
    else:
        yield prefix


def _link_targets(folder: Path) -> Iterator[Path]:
    """Installations that the links in a folder of programs lead to."""
    try:
        links = [Path(entry.path) for entry in os.scandir(folder) if entry.is_symlink()]
    except OSError:
        return
    for link in links[:_MAX_LINKS]:
        yield from _chain(link)


def _chain(link: Path) -> Iterator[Path]:
    """What each step of a chain of links needs: an installation, or the file alone."""
    for step in _steps(link):
        prefix = prefix_of(step.parent)
        yield step if prefix == step.parent else prefix


def _steps(link: Path) -> Iterator[Path]:
    """Each path that a chain of links goes through, without `link` itself."""
    for _ in range(8):
        if not (_reachable(link.parent) and link.is_symlink()):
            return
        link = Path(os.path.normpath(link.parent / link.readlink()))
        yield link


def _variables(environ: Mapping[str, str], folders: Iterable[Path]) -> dict[str, str]:
    """Where toolchains that look below HOME find themselves, though HOME is another one."""
    found = {}
    for folder in folders:
        if folder.name == "toolchains" and _reachable(folder.parent / "settings.toml"):
            found["RUSTUP_HOME"] = str(folder.parent)
        if _reachable(folder / "libexec" / "pyenv"):
            found["PYENV_ROOT"] = str(folder)
    active = environ.get("VIRTUAL_ENV")
    if active and active != sys.prefix and _below(Path(active), folders):
        found["VIRTUAL_ENV"] = active
    return found
