"""What a model is told about the text protocol: the two forms of a reply, the tools, an example.

The format is that of the ReAct paper (arXiv 2210.03629) with named arguments instead of one text.
The example holds real sentences and the tools come last: small models copy placeholders word by
word, and call the tool that they saw last.
"""

import json
from collections.abc import Mapping, Sequence
from typing import Any, Final

from headway.arguments import describe, tool_schema

STOP: Final = ("\nPAUSE", "\nObservation:", "\nQuestion:")
"""Sent as stop sequences: each begins a line that is not the model's to write. With the line break,
because the same words inside a file that it writes must not end its reply."""

_RULES: Final = """\
You have tools, but no way to call them except by text.

To use a tool, write four lines that begin with "Thought:", "Action:", "Action Input:" and \
"PAUSE": what you know and what is missing; the name of one tool; its arguments as one JSON \
object in double quotes; the word PAUSE alone. Then stop: the result comes to you as \
"Observation: ...". Never write an observation yourself.

When the observations are enough, write two parts that begin with "Thought:" and "Final Answer:"; \
the second is the complete answer."""

_EXAMPLE: Final = """\
An example of a whole conversation, elsewhere, with one other tool:
Question: How warm is it in Oslo?
Thought: I need the weather in Oslo.
Action: weather_in
Action Input: {"city": "Oslo"}
PAUSE
Observation: 4 degrees, rain
Thought: The temperature in Oslo is 4 degrees.
Final Answer: It is 4 degrees in Oslo."""

WITHOUT_TOOLS: Final = """\
No tool is available for this reply. Write only:
Final Answer: the answer from what is established; say what is missing"""

CORRECTION: Final = """\
Your reply had neither an action nor a final answer in the agreed form, so nothing ran. Write either
Thought: ...
Action: one tool
Action Input: {"name": "value"}
PAUSE
or
Thought: ...
Final Answer: ..."""


def contract(tools: Sequence[Mapping[str, Any]]) -> str:
    """The system text for `tools` (OpenAI form); for none, that only an answer is left."""
    if not tools:
        return WITHOUT_TOOLS
    names = ", ".join(tool["function"]["name"] for tool in tools)
    listed = "\n".join(_tool(tool) for tool in tools)
    yours = f"Your tools are others:\n{listed}\n\nOnly these tools exist: {names}."
    return f"{_RULES}\n\n{_EXAMPLE}\n\n{yours}"


def _tool(tool: Mapping[str, Any]) -> str:
    """The name, the form of its input, what it does; a line for each parameter with more to say."""
    function, schema = tool["function"], tool_schema(tool)
    properties = schema.get("properties") or {}
    form = ", ".join(f'"{name}": <{_type(name, schema)}>' for name in properties)
    text = " ".join(str(function.get("description") or "").split())
    lines = [f"- {function['name']} {{{form}}}: {text}".rstrip(": ")]
    told = (_parameter(name, part) for name, part in properties.items())
    lines += [f"    {line}" for line in told if line]
    if "$defs" in schema:
        lines.append(f"    definitions: {json.dumps(schema['$defs'], ensure_ascii=False)}")
    return "\n".join(lines)


def _type(name: str, schema: Mapping[str, Any]) -> str:
    one = describe({**schema, "properties": {name: schema["properties"][name]}})
    return one.removeprefix(f"{name} (").removesuffix(")")


def _parameter(name: str, part: Mapping[str, Any]) -> str:
    """`path: file or folder`, a nested one with its JSON schema; empty where nothing is known."""
    text = " ".join(str(part.get("description") or "").split())
    nested = any(key in part for key in ("items", "properties", "$ref", "enum", "allOf"))
    shape = json.dumps(dict(part), ensure_ascii=False) if nested else ""
    return f"{name}: {shape or text}" if shape or text else ""
