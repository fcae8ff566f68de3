"""What a model is told about the text protocol: the two forms of a reply, the tools, an example.

The format is that of the ReAct paper (arXiv 2210.03629) with named arguments instead of one text.
"""

import json
from collections.abc import Mapping, Sequence
from typing import Any, Final

from headway.arguments import describe, tool_schema

STOP: Final = ("\nPAUSE", "\nObservation:", "\nQuestion:")
"""Sent as stop sequences: each begins a line that is not the model's to write. With the line break,
because the same words inside a file that it writes must not end its reply."""

_FORMS: Final = """\
You have tools, but no way to call them except by text. Write every reply in one of two forms.

To use a tool, exactly these four lines, then stop and wait:
Thought: what you know and what is still missing
Action: one of {names}
Action Input: its arguments as one JSON object, with double quotes
PAUSE

You then receive the result as "Observation: ...". Never write an observation yourself.

To finish, when the observations are enough:
Thought: why they are enough
Final Answer: the complete answer"""

_EXAMPLE: Final = """\
The shape of a conversation:
Question: (what the user wants)
Thought: I need (a fact); (a tool) can tell.
Action: (that tool)
Action Input: (its arguments)
PAUSE
Observation: (the result, sent to you)
Thought: I have (that fact); nothing is missing.
Final Answer: (the answer)"""

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
    return f"{_FORMS.format(names=names)}\n\nTools:\n{listed}\n\n{_EXAMPLE}"


_SAMPLES: Final = {"integer": 1, "number": 1, "boolean": True, "array": [], "object": {}}


def _sample(schema: Mapping[str, Any]) -> dict[str, Any]:
    """Arguments of the right form; their values say nothing. Of a tool that exists: small models
    call the tool of an example, or one named like it (seen with Qwen2.5-Coder 0.5B)."""
    properties = schema.get("properties") or {}
    wanted = schema.get("required") or list(properties)[:1]
    return {name: _SAMPLES.get(properties[name].get("type", ""), "...") for name in wanted}


def _tool(tool: Mapping[str, Any]) -> str:
    function, schema = tool["function"], tool_schema(tool)
    text = " ".join(str(function.get("description") or "").split())
    lines = [f"- {function['name']}: {text}".rstrip(": ")]
    for name, part in (schema.get("properties") or {}).items():
        lines.append(f"    {_parameter(name, part, schema)}")
    lines.append(f"    Action: {function['name']}")
    lines.append(f"    Action Input: {json.dumps(_sample(schema))}")
    if "$defs" in schema:
        lines.append(f"    definitions: {json.dumps(schema['$defs'], ensure_ascii=False)}")
    return "\n".join(lines)


def _parameter(name: str, part: Mapping[str, Any], schema: Mapping[str, Any]) -> str:
    """One line: `path (string): file or folder`; nested ones with their JSON schema."""
    line = describe({**schema, "properties": {name: part}})
    text = " ".join(str(part.get("description") or "").split())
    nested = any(key in part for key in ("items", "properties", "$ref", "enum", "allOf"))
    shape = json.dumps(dict(part), ensure_ascii=False) if nested else ""
    return ": ".join(filter(None, (line, shape or text)))
