"""Which calls a person is asked about, and the shape of question and answer (pure).

The shape is LangChain's human-in-the-loop one: `action_requests` and `review_configs` out,
`decisions` by position back. Whatever is not clearly an approval runs nothing.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final, Literal

from headway_tools.kinds import Kind
from langchain_core.messages import ToolCall

ASK_USER: Final = "ask_user"

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
    """True where a person decides before this call runs."""
    if name == ASK_USER:
        return True
    if ask == "all":
        return not _allowed(name, args, allow)
    return ask == "edits" and kind == "write" and not _allowed(name, args, allow)


def _allowed(name: str, args: Mapping[str, Any], allow: Sequence[str]) -> bool:
    return name in allow


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
