"""Rules for commands that need no asking: what a rule surely covers, and nothing beyond (pure)."""

from collections.abc import Sequence
from typing import Final

from headway.commands import has_option, plain_words, program
from headway_tools.errors import HeadwayError

_RUN_OTHERS: Final = frozenset((
    "sudo", "doas", "su", "env", "nohup", "time", "timeout", "nice", "ionice", "chrt", "taskset",
    "stdbuf", "setsid", "xargs", "parallel", "command", "exec", "eval", "builtin", "source", ".",
    "trap", "alias", "fc", "coproc", "!", "if", "then", "else", "elif", "while", "until", "for",
    "case", "select", "function", "do", "watch", "entr", "flock", "script", "expect", "strace",
    "ltrace", "gdb", "lldb", "perf", "valgrind", "chronic", "unbuffer", "ssh", "scp", "sftp",
    "rsync", "socat", "nc", "ncat", "telnet", "busybox", "toybox", "chroot", "unshare", "nsenter",
    "systemd-run", "run-parts", "at", "batch", "crontab", "docker", "podman", "kubectl", "npx",
    "pnpx", "bunx", "uvx", "pipx", "awk", "gawk", "mawk", "nawk", "sed", "ed", "ex", "vi", "vim",
    "nvim", "view", "emacs", "nano", "less", "more", "most", "man", "dc", "m4", "tclsh", "wish",
    "sqlite", "psql", "mysql", "mariadb",
))  # fmt: skip
"""Commands that run what their arguments say, in one way or another."""

_INTERPRETERS: Final = frozenset((
    "sh", "bash", "dash", "zsh", "ksh", "fish", "python", "pypy", "perl", "ruby", "node", "nodejs",
    "php", "lua", "luajit", "deno", "bun", "Rscript", "julia", "java", "osascript",
))  # fmt: skip

_OPTIONS: Final[dict[str, tuple[str, ...]]] = {
    "find": (
        "-exec", "-execdir", "-ok", "-okdir", "-delete", "-fprint", "-fprintf", "-fprint0", "-fls",
    ),
    "fd": ("-x", "-X", "--exec", "--exec-batch"),
    "sort": ("-o", "--output", "--compress-program", "-T", "--temporary-directory"),
    "rg": ("--pre", "--hostname-bin"),
    "tar": (
        "-I", "-F", "--to-command", "--checkpoint-action", "--use-compress-program",
        "--info-script", "--new-volume-script", "--rsh-command", "--rmt-command",
    ),
    "split": ("--filter",),
    "zip": ("-T", "--unzip-command"),
    "wget": ("-e", "--execute", "--use-askpass"),
    "curl": ("-K", "--config"),
    "make": ("-f", "--file", "--makefile", "--eval", "-C", "--directory", "-I", "--include-dir"),
    "pytest": ("-c", "--config-file", "-p", "-o", "--override-ini", "--pdbcls", "--basetemp"),
    "go": ("-exec", "-toolexec", "-vettool"),
    "cargo": ("--config",),
    "npm": ("exec", "x", "--script-shell", "-c", "--call"),
    "tree": ("-o",),
    "git": ("--output", "--ext-diff", "--textconv", "--upload-pack", "--receive-pack", "--help"),
}  # fmt: skip
"""Options by which a harmless command runs another one, or writes a file of any name."""

_GIT: Final[dict[str, tuple[str, ...]]] = {
    "grep": ("-O", "--open-files-in-pager"),
    "archive": ("-o", "--exec", "--remote"),
    "format-patch": ("-o", "--output-directory"),
    "rebase": ("-x", "--exec"),
    "submodule": ("foreach",),
    "bisect": ("run",),
    "clone": ("-c", "--config", "-u", "--template"),
    "init": ("--template", "--separate-git-dir"),
    "push": ("--exec",),
}
_GIT_RUNS_OTHERS: Final = frozenset((
    "config", "filter-branch", "difftool", "mergetool", "for-each-repo", "daemon", "shell", "help",
    "hook",
))  # fmt: skip


def check_rule(rule: str) -> None:
    """`HeadwayError` for a command rule that could never match."""
    _parsed(rule)


def allowed_by(command: str, rule: str) -> bool:
    """True where `command` is surely the one plain command that `rule` describes.

    A rule is the words of a command; a last word `*` stands for any further arguments. Nothing
    matches that a shell would act upon, and no command that runs another one or code from its
    arguments: `env`, `xargs`, `find -exec`, interpreters without a named script (crush#3425 and
    others were bypassed by these).
    """
    words = plain_words(command)
    fixed, more = _parsed(rule)
    if words is None or words[: len(fixed)] != fixed or (not more and words != fixed):
        return False
    return not _reaches_further(words, fixed)


def _parsed(rule: str) -> tuple[list[str], bool]:
    """The words of a rule, and whether further arguments may follow."""
    text = rule.strip()
    more = text == "*" or text.endswith((" *", "\t*"))
    text = text[:-1].strip() if more else text
    words = plain_words(text) if text else []
    if words is None or not (words or more):
        raise HeadwayError(
            f"allow rule bash({rule}): give the words of one plain command, and a last word * for "
            "any further arguments"
        )
    return words, more


def _reaches_further(words: Sequence[str], fixed: Sequence[str]) -> bool:
    name, args = program(words[0]), list(words[1:])
    if name in _RUN_OTHERS:
        return True
    if name in _INTERPRETERS:
        return not _names_its_code(fixed)
    if name == "tar" and args and not args[0].startswith("-"):
        args[0] = f"-{args[0]}"
    if name == "make" and any("=" in arg for arg in args):
        return True
    return has_option(args, _OPTIONS.get(name, ())) or (name == "git" and _git(args))


def _names_its_code(fixed: Sequence[str]) -> bool:
    """`python run.py` or `python -m unittest`: then the rest are arguments of that code."""
    if len(fixed) > 2 and fixed[1] == "-m":
        return not fixed[2].startswith("-")
    return len(fixed) > 1 and not fixed[1].startswith("-")


def _git(args: Sequence[str]) -> bool:
    rest = list(args[1:] if args[:1] == ["--no-pager"] else args)
    if not rest or rest[0].startswith("-") or rest[0] in _GIT_RUNS_OTHERS:
        return True
    return has_option(rest[1:], _GIT.get(rest[0], ()))
