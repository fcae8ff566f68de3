"""Which calls a person is asked about, and the shape of question and answer (pure).

The shape is LangChain's human-in-the-loop one: `action_requests` and `review_configs` out,
`decisions` by position back. Whatever is not clearly an approval runs nothing.
"""

from collections.abc import Mapping, Sequence
from fnmatch import fnmatchcase
from pathlib import PurePosixPath
from typing import Any, Final, Literal

from langchain_core.messages import ToolCall

from headway.commands import allowed_by, destructive
from headway_tools.kinds import Kind

ASK_USER: Final = "ask_user"
BASH: Final = "bash"

Decision = dict[str, Any]


def must_ask(
    name: str,
    args: Mapping[str, Any],
    *,
    kind: Kind,
    ask: Literal["never", "edits", "all"],
    allow: Sequence[str],
    interactive: bool,
) -> bool:
    """True where a person decides before this call runs: every question, what `ask` covers, and,
    where somebody can answer, commands that destroy work; less what a rule of `allow` permits."""
    if name == ASK_USER:
        return True
    covered = ask == "all" or (ask == "edits" and kind == "write")
    if not covered and not (interactive and _destroys(name, args)):
        return False
    return not any(allows(rule, name, args) for rule in allow)


def _destroys(name: str, args: Mapping[str, Any]) -> bool:
    return name == BASH and destructive(str(args.get("command", ""))) is not None


def allows(rule: str, name: str, args: Mapping[str, Any]) -> bool:
    """True where `rule` permits this call: `tool`, or `tool(what)` with a command's words
    (`bash(git status)`, `bash(pytest *)`) or a glob of the path (`edit(docs/**)`)."""
    tool, _, rest = rule.partition("(")
    if tool.strip() != name:
        return False
    if not rest:
        return True
    what = rest.rstrip().removesuffix(")")
    if name == BASH:
        return allowed_by(str(args.get("command", "")), what)
    path = PurePosixPath(str(args.get("path", "")))
    return ".." not in path.parts and not path.is_absolute() and _covers(what, str(path))


def _covers(pattern: str, path: str) -> bool:
    folder = pattern.removesuffix("/**")
    return fnmatchcase(path, pattern) or (folder != pattern and path.startswith(f"{folder}/"))


def question(calls: Sequence[ToolCall], error: str = "") -> dict[str, Any]:
    """The interrupt's payload for `calls` (LangChain's `HITLRequest`)."""
    asked: dict[str, Any] = {
        "action_requests": [{"name": call["name"], "args": call["args"]} for call in calls],
        "review_configs": [
            {"action_name": call["name"], "allowed_decisions": _choices(call["name"])}
            for call in calls
        ],
    }
    return {**asked, "error": error} if error else asked


def _choices(name: str) -> list[str]:
    return ["respond"] if name == ASK_USER else ["approve", "edit", "reject"]


def read_answer(answer: object, calls: Sequence[ToolCall]) -> dict[str, Decision] | str:
    """Decisions by call id, or what is wrong with the answer (then it is asked again)."""
    given = answer.get("decisions") if isinstance(answer, Mapping) else None
    if not isinstance(given, list) or len(given) != len(calls):
        return f"give {len(calls)} decisions, one for each action in order"
    decisions: dict[str, Decision] = {}
    for call, decision in zip(calls, given, strict=True):
        kind = decision.get("type") if isinstance(decision, Mapping) else None
        if kind not in _choices(call["name"]) and kind != "reject":
            return f"{call['name']}: decide by one of {', '.join(_choices(call['name']))}"
        if kind == "edit" and not _edited(decision):
            return f"{call['name']}: an edit needs edited_action with name and args"
        if kind == "respond" and not isinstance(decision.get("message"), str):
            return f"{call['name']}: an answer needs a message"
        decisions[call["id"] or ""] = dict(decision)
    return decisions


def _edited(decision: Mapping[str, Any]) -> bool:
    action = decision.get("edited_action")
    return (
        isinstance(action, Mapping)
        and isinstance(action.get("name"), str)
        and isinstance(action.get("args"), Mapping)
    )
