"""Shell commands read for one purpose: whether a person has to be asked (pure, no shell).

Two questions with opposite caution: an allow rule matches only what is surely one plain command;
a destructive command is looked for in every part of a compound one.
"""

import re
import shlex
from collections.abc import Callable, Iterator, Sequence
from fnmatch import fnmatchcase
from pathlib import PurePosixPath
from typing import Final

_OPERATORS: Final = frozenset("();<>|&\n")
_WRAPPERS: Final = frozenset({
    "sudo", "doas", "env", "nohup", "time", "timeout", "nice", "ionice", "stdbuf", "setsid",
    "command", "exec", "eval", "xargs", "builtin", "then", "do", "else", "!", "{",
})  # fmt: skip
_SHELLS: Final = frozenset({"sh", "bash", "dash", "zsh", "ksh", "fish"})
_RUNS_OTHERS: Final = _WRAPPERS | {"source", ".", "parallel", "ssh", "watch", "awk", "sed"}
_INTERPRETERS: Final = _SHELLS | {
    "python", "python3", "perl", "ruby", "node", "php", "lua", "deno", "bun",
}  # fmt: skip
_CODE_OPTIONS: Final = {
    "find": ("-exec", "-execdir", "-ok", "-okdir", "-delete", "-fprint", "-fls", "-fprintf"),
    "git": ("-c", "--config-env", "--exec-path", "--upload-pack", "--receive-pack", "--ext-diff"),
    "python": ("-c",), "python3": ("-c",), "perl": ("-e", "-E"), "ruby": ("-e",),
    "node": ("-e", "-p"), "tar": ("--to-command", "--checkpoint-action", "-I"), "rg": ("--pre",),
}  # fmt: skip
_BUILD: Final = frozenset({
    "build", "dist", "target", "out", "node_modules", "__pycache__", ".pytest_cache",
    ".mypy_cache", ".ruff_cache", ".tox", ".nox", ".cache", "coverage", "htmlcov",
})  # fmt: skip


def allowed_by(command: str, rule: str) -> bool:
    """True where `command` is surely the one plain command that `rule` describes.

    A rule is words; a last word `*` stands for any further arguments. Operators, newlines,
    substitutions, redirections, variables, assignments, `env` and its kind, `find -exec` and
    code for interpreters never match (crush#3425 and others were bypassed by these).
    """
    words, wanted = plain_words(command), rule.split()
    if not words or not wanted:
        return False
    if words[0] in _RUNS_OTHERS or (words[0] in _INTERPRETERS and wanted[:2] != words[:2]):
        return False
    if any(word in _CODE_OPTIONS.get(words[0], ()) for word in words[1:]):
        return False
    if wanted[-1] == "*":
        return words[: len(wanted) - 1] == wanted[:-1]
    return words == wanted


def plain_words(command: str) -> list[str] | None:
    """The words of one plain command without anything that a shell would act upon; else None."""
    if re.search(r"[;&|<>`$\n\r(){}!\\]", _without_single_quotes(command)):
        return None
    try:
        words = shlex.split(command)
    except ValueError:
        return None
    return None if not words or re.match(r"\w+=", words[0]) else words


def _without_single_quotes(command: str) -> str:
    return re.sub(r"'[^']*'", "''", command)


def destructive(command: str, depth: int = 0) -> str | None:
    """The part of `command` that destroys uncommitted or unrecoverable work, or None."""
    for words in simple_commands(command):
        rest = _unwrapped(words)
        if not rest:
            continue
        name = PurePosixPath(rest[0]).name
        if name in _SHELLS and "-c" in rest and depth < 3:
            inner = rest[rest.index("-c") + 1 :]
            if inner and destructive(inner[0], depth + 1):
                return " ".join(rest)
        elif name in _JUDGES and _JUDGES[name](rest[1:]):
            return " ".join(rest)
    return None


def simple_commands(command: str) -> Iterator[list[str]]:
    """The words of each simple command of a compound one, as far as words show it; what stands in
    substitutions counts as a command of its own."""
    inner = re.findall(r"\$\(([^()]*)\)|`([^`]*)`", command)
    for part in [command, *(a or b for a, b in inner)]:
        lexer = shlex.shlex(part, posix=True, punctuation_chars="();<>|&\n")
        lexer.whitespace, lexer.commenters = " \t\r", ""
        words: list[str] = []
        try:
            for token in lexer:
                if token and set(token) <= _OPERATORS:
                    yield words
                    words = []
                else:
                    words.append(token)
        except ValueError:
            words = part.split()
        yield words


def _unwrapped(words: Sequence[str]) -> list[str]:
    """Without assignments and the commands that only run another one."""
    rest = list(words)
    while rest:
        if re.match(r"\w+=", rest[0]):
            rest.pop(0)
        elif PurePosixPath(rest[0]).name in _WRAPPERS:
            rest.pop(0)
            while rest and (rest[0].startswith("-") or re.fullmatch(r"[\d.]+[smhd]?", rest[0])):
                rest.pop(0)
        else:
            break
    return rest


def _rm(args: Sequence[str]) -> bool:
    flags = "".join(a for a in args if re.fullmatch(r"-[A-Za-z]+", a))
    recursive = bool(re.search("[rRf]", flags)) or "--recursive" in args or "--force" in args
    targets = [a for a in args if not a.startswith("-")]
    return recursive and not (bool(targets) and all(map(_rebuilt, targets)))


def _rebuilt(path: str) -> bool:
    """A folder that tools make again, or a place that is thrown away anyway."""
    parts = PurePosixPath(path).parts
    if ".." in parts or not parts:
        return False
    kept = parts[-1] in _BUILD or any(part in _BUILD for part in parts)
    return kept or path.startswith("/tmp/") or fnmatchcase(parts[-1], "*.egg-info")


def _git(args: Sequence[str]) -> bool:
    rest = list(args)
    while rest and rest[0].startswith("-"):
        takes_value = rest[0] in ("-C", "-c", "--git-dir", "--work-tree", "--namespace")
        rest = rest[2:] if takes_value else rest[1:]
    if not rest:
        return False
    judge = _GIT.get(rest[0])
    return judge is not None and judge(rest[1:])


Judge = Callable[[Sequence[str]], bool]
"""Of a command's arguments: do they destroy work?"""


def _has(*options: str) -> Judge:
    """Any of `options`; single letters also inside a bundle like `-fdx`."""

    def judge(args: Sequence[str]) -> bool:
        bundles = "".join(a[1:] for a in args if re.fullmatch(r"-[A-Za-z]+", a))
        return any(
            o in args or (re.fullmatch(r"-[A-Za-z]", o) is not None and o[1] in bundles)
            for o in options
        )

    return judge


def _checkout(args: Sequence[str]) -> bool:
    return _has("-f", "--force", "--")(args) or "." in args


def _restore(args: Sequence[str]) -> bool:
    return not ("--staged" in args or "-S" in args) or "--worktree" in args or "-W" in args


def _stash(args: Sequence[str]) -> bool:
    return bool(args) and args[0] in ("drop", "clear")


def _push(args: Sequence[str]) -> bool:
    forced = _has("-f", "--force", "--force-with-lease", "--mirror", "--delete", "-d")(args)
    return forced or any(a.startswith(("+", ":", "--force-with-lease=")) for a in args)


_GIT: Final[dict[str, Judge]] = {
    "reset": _has("--hard", "--merge", "--keep"),
    "clean": _has("-f", "--force"),
    "checkout": _checkout,
    "switch": _has("-f", "--force", "--discard-changes", "-C"),
    "restore": _restore,
    "stash": _stash,
    "branch": _has("-D", "-M", "--force", "-f"),
    "tag": _has("-d", "--delete", "-f", "--force"),
    "push": _push,
    "worktree": _has("-f", "--force"),
    "rm": _has("-f", "--force", "-r"),
    "reflog": lambda args: bool(args) and args[0] in ("expire", "delete"),
    "gc": lambda args: any(a.startswith("--prune") for a in args),
    "update-ref": _has("-d"),
    "filter-branch": lambda args: True,
    "filter-repo": lambda args: True,
}

_JUDGES: Final[dict[str, Judge]] = {
    "git": _git,
    "rm": _rm,
    "shred": lambda args: True,
    "truncate": lambda args: True,
    "mkfs": lambda args: True,
    "dd": lambda args: any(a.startswith("of=") for a in args),
    "find": lambda args: (
        "-delete" in args or any(PurePosixPath(a).name in ("rm", "shred") for a in args)
    ),
}
