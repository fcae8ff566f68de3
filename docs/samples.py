"""What the commands print, by running them: the samples of README and docs.

They run one after another in one folder, with scripted replies. What differs from run to run
(durations, dates, ids, folders, estimates) is written the same.
"""

import contextlib
import io
import os
import re
import shlex
import sys
import tempfile
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Final
from unittest.mock import patch

from headway_cli.main import main

FILES: Final = {
    "me/project/a.txt": "one\n",
    "me/work.jsonl": """\
# one reply a line; lines like this one are skipped
{"content": "The word stands in a.txt.", "tool_calls": [{"name": "edit", "args": {"path": "a.txt", "old_text": "one", "new_text": "two"}}]}
{"tool_calls": [{"name": "bash", "args": {"command": "mv a.txt b.txt"}}]}
{"content": "It says two now, and is called b.txt."}
""",  # noqa: E501 -- a script has one reply a line
    "me/other.jsonl": """\
{}
{"tool_calls": [{"name": "bash", "args": {"command": "cp a.txt c.txt"}}]}
{"content": "It says two now; c.txt is a copy."}
""",
}

COMMANDS: Final = {
    "demo": "headway demo",
    "run": 'headway run "write two, then rename the file" -C project --thread otter '
    "--model scripted:work.jsonl",
    "threads": "headway threads",
    "show": "headway show otter",
    "step": "headway show otter@3",
    "files": "headway show otter@4 --files",
    "fork": "headway fork otter@6 --run --model scripted:other.jsonl",
    "diff": "headway diff otter@main otter@b2",
    "dry": "headway restore otter@6 --dry-run",
    "restore": "headway restore otter@6",
    "undo": "headway undo otter",
    "replay": "headway replay otter@main --check",
    "doctor": "HEADWAY_MODEL=openai:gpt-5-mini headway doctor",
    "rm": "headway rm otter",
}
"""Sample → command line, in the order in which they run."""

PARTS: Final = {
    "demo": ("status", "           exit 0"),
    "doctor": ("does it work", "  OPENAI_API_BASE"),
}
"""Of long outputs: from the line that begins so to the one that begins so."""

SAME: Final = (
    (r"\d+\.\d s\b", "0.1 s"),
    (r"[\d.]+( of [\d,]+ seconds)", r"0.1\1"),
    (r"about [\d,]+ tokens", "about 4,000 tokens"),
    (r"\d{4}-\d\d-\d\d \d\d:\d\d", "2026-01-31 12:00"),
    (r"demo-[0-9a-f]{4}\b", "demo-1a2b"),
    (r"\S+/headway-demo-\w+", "/tmp/headway-demo"),
)


def console(*names: str) -> str:
    """Samples as one session of a terminal."""
    shown = "\n".join(f"$ {COMMANDS[name]}\n{samples()[name]}" for name in names)
    return f"```console\n{shown}```"


def file(name: str) -> str:
    """A file that the samples use, as a block."""
    return f"```text\n{FILES[f'me/{name}']}```"


@cache
def samples() -> dict[str, str]:
    """Sample → what its command printed, to both streams, as somebody would see it."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for path, text in FILES.items():
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            (folder / path).write_text(text)
        with contextlib.chdir(folder / "me"):
            return {name: _shown(name, line, folder) for name, line in COMMANDS.items()}


def _shown(name: str, line: str, folder: Path) -> str:
    words = shlex.split(line)
    start = words.index("headway")
    given = dict(word.split("=", 1) for word in words[:start])
    code, text = output(words[start + 1 :], XDG_DATA_HOME=str(folder / "data"), **given)
    if code:
        raise RuntimeError(f"{line} ended with {code}:\n{text}")
    for place, name_of_place in (("me", "/home/me"), ("data", "/home/me/.local/share")):
        text = text.replace(str(folder / place), name_of_place)
    for pattern, replacement in SAME:
        text = re.sub(pattern, replacement, text)
    return _part(name, text)


def output(words: Sequence[str], **environ: str) -> tuple[int, str]:
    """The exit code of `headway WORDS`, and both its streams, in 80 columns."""
    kept = {name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ}
    out = io.StringIO()
    with (
        patch.dict(os.environ, {**kept, "COLUMNS": "80", **environ}, clear=True),
        patch.object(sys, "stdin", io.StringIO()),
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(out),
    ):
        try:
            code = main(words)
        except SystemExit as end:
            code = int(end.code or 0)
    return code, out.getvalue()


def _part(name: str, text: str) -> str:
    if name not in PARTS:
        return text
    first, last = PARTS[name]
    lines = text.splitlines()
    start = next(place for place, line in enumerate(lines) if line.startswith(first))
    end = next(place for place, line in enumerate(lines) if line.startswith(last))
    before, after = ["…"] * (start > 0), ["…"] * (end + 1 < len(lines))
    return "\n".join([*before, *lines[start : end + 1], *after]) + "\n"
