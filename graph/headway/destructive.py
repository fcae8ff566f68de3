"""Commands that destroy uncommitted or unrecoverable work, found wherever they hide (pure).

The class is: what git cannot bring back (discarded changes, dropped stashes, deleted branches,
overwritten history elsewhere) and whole folders or many files deleted at once. Ordinary writing
(`>`, `mv`, `cp`, `sed -i`, `rm file`) is none: `headway undo` has those files.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from fnmatch import fnmatchcase
from pathlib import PurePosixPath
from typing import Final

from headway.commands import has_option, program, simple_commands

_WRAPPERS: Final = frozenset((
    "sudo", "doas", "su", "env", "nohup", "time", "timeout", "nice", "ionice", "chrt", "taskset",
    "stdbuf", "setsid", "command", "exec", "builtin", "xargs", "parallel", "watch", "flock",
    "strace", "chronic", "busybox", "ssh", "find", "fd", "trap", "if", "elif", "then", "else",
    "while", "until", "do", "!", "{", "coproc", "function",
))  # fmt: skip
"""Commands and words behind which another command may stand."""

_MANY: Final = frozenset(("xargs", "parallel", "find", "fd"))
"""Commands that run another one for many files."""

_SHELLS: Final = frozenset(("sh", "bash", "dash", "zsh", "ksh", "fish"))
_DEEPEST: Final = 4

_REBUILT: Final = (
    "build", "dist", "target", "out", "node_modules", "__pycache__", ".pytest_cache", ".mypy_cache",
    ".ruff_cache", ".tox", ".nox", ".cache", "coverage", "htmlcov", "*.egg-info", "*.pyc", "*.o",
)  # fmt: skip
"""What tools make again."""

Judge = Callable[[Sequence[str]], bool]
"""Of a command's arguments: do they destroy work?"""

IsPath = Callable[[str], bool]
"""Whether something in the workspace has this name."""


def unseen(word: str) -> bool:
    """For who cannot look at the disk."""
    return False


def destructive(command: str, is_path: IsPath = unseen, depth: int = 0) -> str | None:
    """The part of `command` that destroys work, or None. `is_path` helps to tell what
    `git checkout WORD` means. Text that only becomes a command at run time is not seen."""
    for words in simple_commands(command):
        for candidate in _candidates(words):
            if _destroys(candidate, is_path, depth):
                return " ".join(candidate)
    return None


def _candidates(words: Sequence[str]) -> Iterator[list[str]]:
    """The command itself, or where it only runs another one every word that may be that."""
    rest = list(words)
    while rest and re.match(r"\w+\+?=", rest[0]):
        rest.pop(0)
    if rest:
        yield rest
    if rest and program(rest[0]) in _WRAPPERS:
        for place, word in enumerate(rest[1:], 1):
            if program(word) in _JUDGES or program(word) in _INNER:
                many = program(rest[0]) in _MANY and program(word) == "rm"
                yield [*rest[place:], *(["-r", "*"] if many else [])]


def _destroys(words: Sequence[str], is_path: IsPath, depth: int) -> bool:
    name, args = program(words[0]), words[1:]
    if name in _INNER:
        inner = _INNER[name](args)
        return inner is not None and (
            depth >= _DEEPEST or destructive(inner, is_path, depth + 1) is not None
        )
    if name == "git":
        return _git(args, is_path)
    judge = _JUDGES.get(name)
    return judge is not None and judge(args)


def _code(args: Sequence[str]) -> str | None:
    """What `bash -c` (also `-lc`) is given."""
    for place, arg in enumerate(args[:-1]):
        if re.fullmatch(r"-\w*c\w*", arg):
            return args[place + 1]
    return None


def _joined(args: Sequence[str]) -> str | None:
    return " ".join(args)


def _first_of(args: Sequence[str]) -> str | None:
    return args[0] if args else None


_INNER: Final[dict[str, Callable[[Sequence[str]], str | None]]] = {
    **dict.fromkeys(_SHELLS, _code), "su": _code, "eval": _joined, "ssh": _joined, "watch": _joined,
    "trap": _first_of,
}  # fmt: skip
"""Commands that take another one as text."""


def _rm(args: Sequence[str]) -> bool:
    targets = [arg for arg in args if not arg.startswith("-")]
    many = any(re.search(r"[*?\[]", target) for target in targets)
    if not (many or has_option(args, ("-r", "-R", "--recursive"))):
        return False
    return not targets or not all(map(_rebuilt, targets))


def _rebuilt(path: str) -> bool:
    """What tools make again, or in a place that is thrown away anyway."""
    parts = PurePosixPath(path).parts
    if ".." in parts or not parts:
        return False
    known = any(fnmatchcase(part, pattern) for part in parts for pattern in _REBUILT)
    return known or path.startswith("/tmp/")


def _git(args: Sequence[str], is_path: IsPath) -> bool:
    rest = list(args)
    while rest and rest[0].startswith("-"):
        if rest[0] == "-c" and "=!" in "".join(rest[1:2]):
            return True
        takes_value = rest[0] in ("-C", "-c", "--git-dir", "--work-tree", "--namespace")
        rest = rest[2:] if takes_value else rest[1:]
    if not rest:
        return False
    if rest[0] == "checkout":
        return _checkout(rest[1:], is_path)
    judge = _GIT.get(rest[0])
    return judge is not None and judge(rest[1:])


def _checkout(args: Sequence[str], is_path: IsPath) -> bool:
    """Of a branch git refuses to lose changes; of paths it does not, and a lone word may be
    either."""
    if has_option(args, ("-f", "--force", "-B", "-p", "--patch", "--ours", "--theirs", "--merge")):
        return True
    if "--" in args or has_option(args, ("--pathspec-from-file",)):
        return True
    names = [arg for arg in args if not arg.startswith("-") or arg == "-"]
    if has_option(args, ("-b", "--orphan", "-t", "--track", "--detach")):
        return False
    return len(names) > 1 or any(
        name == "." or re.search(r"/$|\.[A-Za-z]\w*$", name) or is_path(name) for name in names
    )


def _restore(args: Sequence[str]) -> bool:
    worktree = has_option(args, ("-W", "--worktree"))
    return worktree or not has_option(args, ("-S", "--staged"))


def _has(*options: str) -> Judge:
    return lambda args: has_option(args, options)


def _first(*words: str) -> Judge:
    return lambda args: args[:1] != [] and args[0] in words


def _push(args: Sequence[str]) -> bool:
    options = ("-f", "--force", "--force-with-lease", "--mirror", "--delete", "-d", "--prune")
    return has_option(args, options) or any(arg.startswith(("+", ":")) for arg in args)


def _always(args: Sequence[str]) -> bool:
    return True


_ABORT: Final = _has("--abort", "--skip")

_GIT: Final[dict[str, Judge]] = {
    "reset": _has("--hard", "--merge", "--keep"),
    "clean": _has("-f", "--force"),
    "switch": _has("-f", "--force", "--discard-changes", "-C", "--force-create"),
    "restore": _restore,
    "stash": _first("drop", "clear"),
    "branch": _has("-D", "-M", "-C", "-f", "--force"),
    "tag": _has("-d", "--delete", "-f", "--force"),
    "push": _push,
    "worktree": _has("-f", "--force"),
    "rm": _has("-f", "--force"),
    "mv": _has("-f", "--force"),
    "checkout-index": _has("-f", "--force"),
    "read-tree": _has("--reset", "-u"),
    "submodule": _has("-f", "--force"),
    "reflog": _first("expire", "delete"),
    "gc": _has("--prune"),
    "update-ref": _has("-d"),
    "merge": _ABORT, "rebase": _ABORT, "am": _ABORT, "cherry-pick": _ABORT, "revert": _ABORT,
    "prune": _always, "filter-branch": _always, "filter-repo": _always,
}  # fmt: skip

_JUDGES: Final[dict[str, Judge]] = {
    "git": _always,
    "rm": _rm,
    "find": _has("-delete"),
    "rsync": _has("--delete"),
    "tar": _has("--remove-files"),
    "dd": lambda args: any(arg.startswith("of=") for arg in args),
    "shred": _always, "truncate": _always, "wipefs": _always, "mkfs": _always,
    "mkfs.ext": _always, "srm": _always,
}  # fmt: skip
"""Commands that can destroy work; git has a table of its own."""
