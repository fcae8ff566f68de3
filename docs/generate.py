"""Writes what is generated of the documentation: `python docs/generate.py` (a test compares it).

A block stands between `<!-- generated: NAME ARGUMENTS -->` and `<!-- end -->`.
"""

import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "docs"), str(ROOT / "tests")]

from samples import console, file, output  # noqa: E402

from headway import build_agent  # noqa: E402
from headway.status import MEANING, exit_code  # noqa: E402
from headway_cli.help_text import COMMANDS  # noqa: E402
from reliability.page import page  # noqa: E402 -- neither docs nor tests are packages

PAGES: Final = (ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md")))
_BLOCK: Final = re.compile(r"(<!-- generated: (.+?) -->\n).*?(<!-- end -->)", re.DOTALL)


def graph() -> str:
    """The graph as Mermaid, from the compiled graph."""
    mermaid = build_agent(tools=[]).get_graph().draw_mermaid(with_styles=False)
    return f"```mermaid\n{mermaid.strip()}\n```"


def statuses() -> str:
    """Status, exit code and meaning, as a table."""
    rows = [f"| `{name}` | {exit_code(name)} | {text} |" for name, text in MEANING.items()]
    return "\n".join(["| status | exit code | |", "| --- | --- | --- |", *rows])


def usage(*words: str) -> str:
    """What `headway WORDS --help` prints."""
    return f"```text\n{output([*words, '--help'])[1]}```"


def commands() -> str:
    """The help of every command, each below a heading of its own."""
    return "\n\n".join(f"### headway {name}\n\n{usage(name)}" for name in COMMANDS)


BLOCKS: Final[dict[str, Callable[..., str]]] = {
    "graph": graph,
    "statuses": statuses,
    "usage": usage,
    "commands": commands,
    "console": console,
    "file": file,
    "reliability": page,
}


def filled(text: str) -> str:
    """`text` with its blocks as they are now."""
    return _BLOCK.sub(_fill, text)


def _fill(match: re.Match[str]) -> str:
    name, *arguments = match[2].split()
    return f"{match[1]}{BLOCKS[name](*arguments).strip()}\n{match[3]}"


if __name__ == "__main__":
    for path in PAGES:
        path.write_text(filled(path.read_text(encoding="utf-8")), encoding="utf-8")
