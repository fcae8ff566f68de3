"""Writes what is generated of the documentation: `python docs/generate.py` (a test compares it)."""

import re
import sys
from pathlib import Path

from headway import build_agent
from headway.status import STATUSES, exit_code

ROOT = Path(__file__).resolve().parent.parent
README = ROOT / "README.md"
RELIABILITY = ROOT / "docs" / "reliability.md"


def drawing() -> str:
    """The graph as Mermaid, from the compiled graph."""
    mermaid = build_agent(tools=[]).get_graph().draw_mermaid(with_styles=False)
    return f"```mermaid\n{mermaid.strip()}\n```"


def exit_codes() -> dict[str, int]:
    """Status → exit code."""
    return {status: exit_code(status) for status in STATUSES}


def generated(text: str) -> str:
    """`text` with the drawing behind its mark."""
    found = re.sub(
        r"<!-- graph -->\n(?:```mermaid\n.*?\n```\n)?", "<!-- graph -->\n", text, flags=re.S
    )
    return found.replace("<!-- graph -->\n", f"<!-- graph -->\n{drawing()}\n")


def reliability() -> str:
    """The page about what ends a run and how, from the table of scenarios."""
    sys.path[:0] = [path for path in (str(ROOT / "tests"),) if path not in sys.path]
    from reliability.page import page

    return page()


if __name__ == "__main__":
    README.write_text(generated(README.read_text()))
    RELIABILITY.write_text(reliability())
