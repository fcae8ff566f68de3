"""Writes the generated parts of README.md: `python docs/generate.py` (a test compares them)."""

import re
from pathlib import Path

from headway import build_agent
from headway.status import STATUSES, exit_code

README = Path(__file__).resolve().parent.parent / "README.md"


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


if __name__ == "__main__":
    README.write_text(generated(README.read_text()))
