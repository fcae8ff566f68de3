"""A tool with outputs of any size, and what the tests of outputs ask and read."""

import random
from typing import Any

from langchain_core.messages import ToolMessage
from langchain_core.tools import tool

from headway import build_agent
from openai_server import OpenAIServer

CONFIG: dict[str, Any] = {"configurable": {"thread_id": "t"}}
ASK = {"messages": [("user", "look")]}


def noise(number: int, size: int) -> str:
    """`size` characters of lines that occur nowhere else, `MIDDLE-<number>` in the middle."""
    chance = random.Random(number)
    unit = "".join(f"{chance.getrandbits(60):015x} of {number}\n" for _ in range(50))
    half = (unit * (size // (2 * len(unit)) + 1))[: size // 2]
    return f"{half}\nMIDDLE-{number}\n{half}"


@tool
def big(number: int, size: int) -> str:
    """Much text."""
    return noise(number, size)


def texts(result: Any) -> list[str]:
    return [str(m.text) for m in result["messages"] if isinstance(m, ToolMessage)]


def served(server: OpenAIServer, **options: Any) -> Any:
    return build_agent("openai:m", tools=[big], base_url=server.url, api_key="sk-test", **options)
