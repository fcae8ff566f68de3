"""Which calls a person is asked about, and the shape of question and answer (pure).

The shape is LangChain's human-in-the-loop one: `action_requests` and `review_configs` out,
`decisions` by position back. Whatever is not clearly an approval runs nothing.
"""

import difflib
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal

from langchain_core.messages import ToolCall

from headway.arguments import BadArguments, check_arguments, parse_arguments, tool_schema
from headway.destructive import IsPath, destructive, unseen
from headway.permitted import allowed_by, check_rule
from headway_tools.errors import HeadwayError
from headway_tools.kinds import Kind
from headway_tools.patterns import covers

ASK_USER: Final = "ask_user"
BASH: Final = "bash"

Ask = Literal["never", "edits", "all"]
"""Which calls a person is asked about: none beyond the rules, edits and commands, every call."""

Decision = dict[str, Any]
NO_TOOLS: Final[Mapping[str, Any]] = {}


def as_given(path: str) -> str | None:
    """A path from the workspace's top by its name alone; None where it may lead elsewhere."""
    return None if path.startswith("/") or ".." in path.split("/") else path


@dataclass(frozen=True)
class Rules:
    """Who is asked about what. `place` finds the path that a name really leads to, None where
    that is outside the workspace; `is_path` tells files from branches."""

    ask: Ask = "never"
    allow: Sequence[str] = ()
    interactive: bool = False
    place: Callable[[str], str | None] = as_given
    is_path: IsPath = unseen


def must_ask(name: str, args: Mapping[str, Any], kind: Kind, rules: Rules) -> bool:
    """True where a person decides before this call runs: every question, what `ask` covers, and,
    where somebody can answer, commands that destroy work; less what a rule of `allow` permits."""
    if name == ASK_USER:
        return True
    destroys = name == BASH and destructive(str(args.get("command", "")), rules.is_path) is not None
    covered = rules.ask == "all" or (rules.ask == "edits" and kind == "write")
    if not covered and not (destroys and rules.interactive):
        return False
    return not any(
        allows(rule, name, args, rules.place) and not (destroys and _is_open(rule))
        for rule in rules.allow
    )


def _is_open(rule: str) -> bool:
    """A rule for any arguments: nobody had a command that destroys work in mind."""
    return rule.rstrip(" )").endswith("*")


def check_rules(rules: Sequence[str]) -> None:
    """`HeadwayError` for a rule that could never match, whatever the tools."""
    for rule in rules:
        tool, what = _parts(rule)
        if tool == BASH and what is not None:
            check_rule(what)


def require_tools(rules: Sequence[str], tools: Sequence[str]) -> None:
    """`HeadwayError` for a rule about a tool that is not among `tools`."""
    for rule in rules:
        name, _ = _parts(rule)
        if name not in tools:
            near = ", ".join(difflib.get_close_matches(name, tools, n=3) or tools) or "none"
            raise HeadwayError(f"allow rule {rule!r}: there is no tool {name}; there is {near}")


def allows(
    rule: str,
    name: str,
    args: Mapping[str, Any],
    place: Callable[[str], str | None] = as_given,
) -> bool:
    """True where `rule` permits this call: `tool`, or `tool(what)` with a command's words
    (`bash(git status)`, `bash(git log *)`) or a path pattern as `--protect` takes it
    (`edit(docs/**)`)."""
    tool, what = _parts(rule)
    if tool != name:
        return False
    if what is None:
        return True
    if name == BASH:
        return allowed_by(str(args.get("command", "")), what)
    given = args.get("path")
    path = place(given) if isinstance(given, str) else None
    return path is not None and covers((what,), path)


def _parts(rule: str) -> tuple[str, str | None]:
    found = re.fullmatch(r"\s*([^()\s]+)\s*(?:\((.*)\))?\s*", rule, re.DOTALL)
    if found is None or (found[2] is not None and re.match(r"\s*(!|$)", found[2])):
        raise HeadwayError(
            f"allow rule {rule!r}: write it as tool, bash(git log *) or edit(docs/**)"
        )
    return found[1], found[2]


def question(calls: Sequence[ToolCall], error: str = "") -> dict[str, Any]:
    """The interrupt's payload for `calls` (LangChain's `HITLRequest`)."""
    asked: dict[str, Any] = {
        "action_requests": [_action(call) for call in calls],
        "review_configs": [
            {"action_name": call["name"], "allowed_decisions": _choices(call["name"])}
            for call in calls
        ],
    }
    return {**asked, "error": error} if error else asked


def _action(call: ToolCall) -> dict[str, Any]:
    action: dict[str, Any] = {"name": call["name"], "args": call["args"]}
    part = destructive(str(call["args"].get("command", ""))) if call["name"] == BASH else None
    return {**action, "description": f"this destroys work: {part}"} if part else action


def _choices(name: str) -> list[str]:
    return ["respond"] if name == ASK_USER else ["approve", "edit", "reject"]


def read_answer(
    answer: object, calls: Sequence[ToolCall], tools: Mapping[str, Any] = NO_TOOLS
) -> dict[str, Decision] | str:
    """Decisions by call id, or what is wrong with the answer (then it is asked again). An edit
    must name one of `tools` and fit its arguments' schema."""
    given = answer.get("decisions") if isinstance(answer, Mapping) else None
    if not isinstance(given, list) or len(given) != len(calls):
        return f"give {len(calls)} decisions, one for each action in order"
    decisions: dict[str, Decision] = {}
    for call, decision in zip(calls, given, strict=True):
        kind = decision.get("type") if isinstance(decision, Mapping) else None
        if kind not in _choices(call["name"]) and kind != "reject":
            return f"{call['name']}: decide by one of {', '.join(_choices(call['name']))}"
        if kind == "respond" and not isinstance(decision.get("message"), str):
            return f"{call['name']}: an answer needs a message"
        decisions[call["id"] or ""] = dict(decision)
        if kind == "edit":
            action = _edited(decision.get("edited_action"), tools)
            if isinstance(action, str):
                return f"{call['name']}: {action}"
            decisions[call["id"] or ""]["edited_action"] = action
    return decisions


def _edited(action: object, tools: Mapping[str, Any]) -> dict[str, Any] | str:
    """The call that a person wrote, checked as a model's is, or what is wrong with it."""
    given = action if isinstance(action, Mapping) else {}
    name, args = str(given.get("name")), given.get("args")
    if name not in tools or name == ASK_USER or not isinstance(args, Mapping):
        return "an edit needs edited_action with a tool's name and args"
    try:
        checked = check_arguments(parse_arguments(dict(args)), tool_schema(tools[name]))
    except BadArguments as error:
        return f"the edited call of {name} cannot run: {error}"
    return {"name": name, "args": checked}
