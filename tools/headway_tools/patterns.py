"""Path patterns for `protect` and `hide`, one meaning for file tools and sandbox.

`*`, `?` and `[...]` match within one name, `**` across folders, and what covers a folder covers
everything below it. A pattern is a path from the workspace's top; with `anywhere=True` one
without a slash matches a name at any depth. Later patterns win, and `!pattern` takes out again.
"""

import os
import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from pathlib import Path

_TOKEN = re.compile(
    r"(?P<deep>\*\*/)|(?P<rest>\*\*)|(?P<star>\*)|(?P<one>\?)|(?P<set>\[!?\]?[^\]/]*\])"
)


def covers(patterns: Sequence[str], relative: str, *, anywhere: bool = False) -> bool:
    """Whether `relative` (posix, from the workspace's top), or a folder above it, is matched."""
    parts = [part for part in relative.split("/") if part not in ("", ".")]
    above = ["/".join(parts[: count + 1]) for count in range(len(parts))]
    covered = False
    for pattern in patterns:
        inside = not pattern.startswith("!")
        if inside != covered and _any_match(pattern.removeprefix("!"), above, anywhere):
            covered = inside
    return covered


def expand(root: Path, patterns: Sequence[str], *, anywhere: bool = False) -> Iterator[str]:
    """Existing paths below `root` that are covered, topmost only, in no particular order.

    Links are yielded and not followed. `.git` folders are searched only where a pattern names
    them. The caller bounds how many it takes.
    """
    plain = [pattern for pattern in patterns if not _needs_search(pattern, anywhere)]
    if len(plain) == len(patterns):
        names = dict.fromkeys(_normal(pattern) for pattern in plain)
        yield from (name for name in names if name and os.path.lexists(root / name))
        return
    skip_git = not any(".git" in pattern.split("/") for pattern in patterns)
    yield from _search(root, "", patterns, anywhere, skip_git)


def is_glob(pattern: str) -> bool:
    """Whether the pattern needs matching, or is the plain name of one path."""
    return any(character in pattern for character in "*?[")


def escape(path: str) -> str:
    """A pattern that matches `path` and nothing else."""
    plain = re.sub(r"[*?\[]", r"[\g<0>]", path)
    return "./" + plain if plain.startswith("!") else plain


def _needs_search(pattern: str, anywhere: bool) -> bool:
    by_name = anywhere and "/" not in pattern.strip("/")
    return is_glob(pattern) or pattern.startswith("!") or by_name


def _search(
    root: Path, folder: str, patterns: Sequence[str], anywhere: bool, skip_git: bool
) -> Iterator[str]:
    try:
        entries = list(os.scandir(root / folder))
    except OSError:
        return
    for entry in entries:
        relative = f"{folder}/{entry.name}" if folder else entry.name
        if covers(patterns, relative, anywhere=anywhere):
            yield relative
        elif entry.is_dir(follow_symlinks=False) and not (skip_git and entry.name == ".git"):
            yield from _search(root, relative, patterns, anywhere, skip_git)


def _any_match(pattern: str, paths: Sequence[str], anywhere: bool) -> bool:
    regex = _compiled(pattern, anywhere)
    return any(regex.fullmatch(path) for path in paths)


@lru_cache(maxsize=1024)
def _compiled(pattern: str, anywhere: bool) -> re.Pattern[str]:
    plain = _normal(pattern)
    prefix = "(?:.*/)?" if anywhere and "/" not in plain else ""
    return re.compile(prefix + _translated(plain), re.DOTALL)


def _normal(pattern: str) -> str:
    """Without empty and "." parts; "" for one that leads out, which matches nothing."""
    parts = [part for part in pattern.split("/") if part not in ("", ".")]
    return "" if ".." in parts else "/".join(parts)


def _translated(pattern: str) -> str:
    out, position = [], 0
    for token in _TOKEN.finditer(pattern):
        out.append(re.escape(pattern[position : token.start()]))
        out.append(_token_regex(token))
        position = token.end()
    return "".join(out) + re.escape(pattern[position:])


def _token_regex(token: re.Match[str]) -> str:
    match token.lastgroup:
        case "deep":
            return "(?:.*/)?"
        case "rest":
            return ".*"
        case "star":
            return "[^/]*"
        case "one":
            return "[^/]"
        case _:
            return _set_regex(token.group())


def _set_regex(text: str) -> str:
    body = text[1:-1].replace("\\", r"\\").replace("[", r"\[").replace("]", r"\]")
    negated = body.startswith("!")
    body = body.removeprefix("!")
    body = "\\" + body if body.startswith("^") else body
    try:
        re.compile(f"[{body}]")
    except re.error:
        return re.escape(text)
    return f"(?!/)[{'^' if negated else ''}{body}]"
