"""Text of a model that should have been a tool call: a call printed in some envelope, a promise.

Models whose server does not parse their native format, and models that forget the protocol, write
calls as text. Only a call that *is* the reply or its end is taken; one that is quoted inside an
explanation stays text.
"""

import ast
import json
import re
from collections.abc import Set as AbstractSet
from typing import Any, NamedTuple

from headway.arguments import BadArguments, parse_arguments
from headway.promise import is_promise


class PrintedCall(NamedTuple):
    name: str
    args: dict[str, Any]


class Printed(NamedTuple):
    """What a reply's text holds: calls that can be run, or only the look of one."""

    calls: list[PrintedCall]
    thought: str
    """The text before the calls."""
    looks_like_call: bool
    """An envelope was opened at the end of the text, but nothing safe could be read from it."""


_NAME_KEYS = ("name", "tool", "tool_name", "function", "function_name", "action", "recipient_name")
_ARGUMENT_KEYS = (
    "arguments",
    "parameters",
    "args",
    "input",
    "tool_input",
    "action_input",
    "params",
)

_TAGGED = tuple(
    re.compile(pattern, re.DOTALL)
    for pattern in (
        r"<(?:tool_?calls?|tools|function_?calls?|invoke)\b[^>]*>.*\Z",
        r"<function=.*\Z",
        r"<\|python_tag\|>.*\Z",
        r"\[TOOL_CALLS\].*\Z",
        r"<[|｜]tool[▁_]calls?[▁_](?:section_)?begin[|｜]>.*\Z",
        r"<\|channel\|>commentary to=.*\Z",
    )
)
_PLAIN = tuple(
    re.compile(pattern, re.DOTALL | re.MULTILINE)
    for pattern in (
        r"^```(?:json|tool_call|tool_code)?[ \t]*\n\s*[\[{](?:(?!```).)*(?:```)?\s*\Z",
        r"^[\[{].*\Z",
    )
)
_FUNCTION_TAG = re.compile(r"<function=(?P<name>[\w.-]+)>(?P<body>.*?)</function>", re.DOTALL)
_INVOKE_TAG = re.compile(r"<invoke name=\"(?P<name>[\w.-]+)\">(?P<body>.*?)</invoke>", re.DOTALL)
_PARAMETER = re.compile(
    r"<parameter(?:=| name=\")(?P<key>[\w.-]+)\"?>\n?(?P<value>.*?)\n?</parameter>", re.DOTALL
)
_DEEPSEEK = re.compile(
    r"<[|｜]tool[▁_]call[▁_]begin[|｜]>(?:function(?=<))?(?:<[|｜]tool[▁_]sep[|｜]>)?(?P<name>[\w.-]+)"
    r"(?::\d+)?(?:<[|｜]tool[▁_](?:sep|call_argument_begin)[|｜]>|<\|tool_call_argument_begin\|>)?\s*"
    r"(?:```json\s*)?(?P<body>\{.*?\})\s*(?:```)?\s*<[|｜]tool[▁_]call[▁_]end[|｜]>",
    re.DOTALL,
)
_HARMONY = re.compile(
    r"<\|channel\|>commentary to=(?:functions\.)?(?P<name>[\w.-]+).*?<\|message\|>"
    r"(?P<body>.*?)(?:<\|call\|>)?\s*\Z",
    re.DOTALL,
)
_MISTRAL = re.compile(
    r"(?P<name>[\w.-]+)(?:\[CALL_ID\]\w+)?(?:\[ARGS\])?\s*(?P<body>\{.*)", re.DOTALL
)
_EXPLAINS = re.compile(
    r"\b(?:looks? like|examples?|e\.g\.|for instance|format|such as|would|syntax|following|prints?|"
    r"printed|wrote|writes?|written|instead of|quot\w+|says|said|emits?|emitted|outputs?|sends?|"
    r"sent|returns?|called|contains?|shows?)\b",
    re.IGNORECASE,
)
_FORMS = (
    (_FUNCTION_TAG, "</function>"),
    (_INVOKE_TAG, "</invoke>"),
    (_DEEPSEEK, r"<[|｜]tool[▁_]call[▁_]end[|｜]>"),
    (_HARMONY, r"(?s:<\|message\|>.*)"),
)
_NOISE = re.compile(
    r"</?(?:tool_?calls?|tools|function_?calls?|invoke)\b[^>]*>|```(?:json|tool_call|tool_code)?|<\|python_tag\|>|<\|eom_id\|>|<\|eot_id\|>"
    r"|<\|im_end\|>|<[|｜]tool[▁_]calls?(?:[▁_]section)?[▁_](?:begin|end)[|｜]>|</s>|\[TOOL_CALLS\]"
)


def find_printed(text: str, names: AbstractSet[str]) -> Printed:
    """Look for calls of the tools `names` printed at the end of `text`."""
    for pattern in (*_TAGGED, *_PLAIN):
        match = pattern.search(text)
        if match and not text[: match.start()].endswith("`" if pattern in _TAGGED else "``"):
            found = _judge(text, match, names, tagged=pattern in _TAGGED)
            if found.calls or found.looks_like_call:
                return found
    return Printed([], text, False)


def _judge(text: str, match: re.Match[str], names: AbstractSet[str], *, tagged: bool) -> Printed:
    envelope, lead = match.group(0), text[: match.start()].strip()
    fenced = lead.endswith("```") or re.search(r"```\w*\Z", lead) is not None
    lead = re.sub(r"```\w*\Z", "", lead).strip()
    calls = _read_envelope(envelope)
    known = bool(calls) and all(call.name in names for call in calls)
    if known and _meant(lead, tagged=tagged and not fenced):
        return Printed(calls, lead, False)
    if (
        known
        or (tagged and _ends_as_call(envelope, lead))
        or (not lead and _names_tool(envelope, names))
    ):
        return Printed([], text, not _EXPLAINS.search(_last_sentence(lead)))
    return Printed([], text, False)


def _meant(lead: str, *, tagged: bool) -> bool:
    """Whether the text before the call leads to it rather than quotes it."""
    if not lead or is_promise(lead):
        return True
    return tagged and not _EXPLAINS.search(_last_sentence(lead))


def _last_sentence(text: str) -> str:
    return re.split(r"(?<=[.!?])\s+|\n+", text)[-1]


def _ends_as_call(envelope: str, lead: str) -> bool:
    """A tag with something like a call in it and no prose behind: cut or broken, not a mention."""
    behind = re.split(r"</[\w=]+>|[|｜]>", envelope)[-1].strip("` \n")
    body = _NOISE.sub("", envelope).strip()
    calls = body and (not lead or re.search(r"[\[{=]|name", body))
    return bool(calls) and (not behind or behind[:1] in ("{", "[", '"'))


def _names_tool(envelope: str, names: AbstractSet[str]) -> bool:
    named = re.search(r"\"(?:name|tool|tool_name|function|action)\"\s*:\s*\"([^\"]*)\"", envelope)
    return bool(named and named.group(1) in names)


def _read_envelope(body: str) -> list[PrintedCall]:
    """The calls in an envelope; none if anything in it cannot be read."""
    body = body.strip()
    for pattern, closing in _FORMS:
        closed, rest = _closed_part(body, closing)
        found = [(m["name"], m["body"]) for m in pattern.finditer(closed)]
        if found:
            rest = _NOISE.sub("", pattern.sub("", closed) + rest).strip()
            return [] if rest else _calls_of(found)
    text = _NOISE.sub("\n", body).strip()
    return _read_json(text) or _read_pythonic(text)


def _closed_part(text: str, closing: str) -> tuple[str, str]:
    """`text` up to its last closing tag, and the rest. In the first part every search for a
    closing tag ends soon; a looping model's thousand open tags would cost their square."""
    ends = [match.end() for match in re.finditer(closing, text)]
    end = ends[-1] if ends else 0
    return text[:end], text[end:]


def _calls_of(found: list[tuple[str, str]]) -> list[PrintedCall]:
    calls: list[PrintedCall] = []
    for name, body in found:
        inner, _ = _closed_part(body, "</parameter>")
        parameters = {m["key"]: _scalar(m["value"]) for m in _PARAMETER.finditer(inner)}
        try:
            args = parameters or parse_arguments(body.strip().removesuffix("```"))
        except BadArguments:
            return []
        calls.append(PrintedCall(name.removeprefix("functions."), args))
    return calls


def _scalar(text: str) -> Any:
    """A parameter between tags: JSON where it is an object or a list, else the text itself."""
    if text.lstrip()[:1] in ("{", "["):
        try:
            return json.loads(text)
        except ValueError:
            return text
    return text


def _read_json(text: str) -> list[PrintedCall]:
    """JSON objects one after another, or one list of them, with nothing else around."""
    values: list[Any] = []
    decoder = json.JSONDecoder(strict=False)
    if named := _MISTRAL.fullmatch(text):
        return _calls_of([(named["name"], named["body"])])
    while text:
        try:
            value, end = decoder.raw_decode(text)
        except (ValueError, RecursionError):
            return []
        values += value if isinstance(value, list) else [value]
        text = text[end:].lstrip(" \t\r\n,;")
    calls = [_call_from(value) for value in values]
    return [call for call in calls if call] if all(calls) else []


def _read_pythonic(text: str) -> list[PrintedCall]:
    """`[bash(command="ls")]`, the form of Llama 4: keywords with literal values only."""
    if not re.match(r"\[\w+\(", text):
        return []
    try:
        tree = ast.parse(text, mode="eval").body
        nodes = tree.elts if isinstance(tree, ast.List) else []
        return [_call_of_node(node) for node in nodes]
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return []


def _call_of_node(node: ast.expr) -> PrintedCall:
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Name) or node.args:
        raise ValueError("no call with keywords")
    args = {keyword.arg or "": ast.literal_eval(keyword.value) for keyword in node.keywords}
    return PrintedCall(node.func.id, args)


def _call_from(value: Any) -> PrintedCall | None:
    if not isinstance(value, dict):
        return None
    inner = value.get("function")
    if isinstance(inner, dict):
        return _call_from(inner)
    name = next((value[key] for key in _NAME_KEYS if isinstance(value.get(key), str)), None)
    raw = next((value[key] for key in _ARGUMENT_KEYS if key in value), None)
    if name is None or raw is None:
        return None
    try:
        return PrintedCall(name.removeprefix("functions."), parse_arguments(raw))
    except BadArguments:
        return None
