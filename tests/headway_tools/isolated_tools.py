"""LangChain tools that a process of its own can import."""

from langchain_core.tools import BaseTool, tool

from headway_tools.kinds import declare


@tool
def doubled(number: int) -> dict[str, int]:
    """Twice the number."""
    return {"result": 2 * number}


class Named(BaseTool):
    """A tool that is an object."""

    name: str = "named"
    description: str = "say the name"
    who: str = "nobody"

    def _run(self, greeting: str) -> str:
        return f"{greeting}, {self.who}"


rebound = declare(doubled, "read", isolated=True)
