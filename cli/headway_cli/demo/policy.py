"""The demo's model: a pure function from the messages to the next reply.

It decides only from what it sees: passing tests end it, a failed edit makes it read again.
It shows that the loop works, and no skill in repairing anything.
"""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolCall, ToolMessage

TEST_COMMAND = "python -m unittest discover -s tests"
SOURCE = "shop/delivery.py"
FILES = (SOURCE, "shop/settings.json", "tests/test_delivery.py")
MAX_EDITS = 2

_RELATIVE_PATH = re.compile(r"""Path\((?P<name>"[\w.-]+"|'[\w.-]+')\)""")
"""A file name that is looked up in the current directory."""


@dataclass(frozen=True)
class Seen:
    """One finished tool call and its result."""

    name: str
    args: Mapping[str, Any]
    result: Mapping[str, Any]

    @property
    def ok(self) -> bool:
        return self.result.get("ok") is True


@dataclass(frozen=True)
class Move:
    """What to say, and the calls to make with it; none means that this is the answer."""

    text: str
    calls: tuple[tuple[str, dict[str, Any]], ...] = ()


READ_ALL = Move(
    "I read the code, its settings and the tests before I touch anything.",
    tuple(("read_file", {"path": path}) for path in FILES),
)
RUN_TESTS = Move("Now the tests, to see what really fails.", (("bash", {"command": TEST_COMMAND}),))
RUN_AGAIN = Move("Does that mend it?", (("bash", {"command": TEST_COMMAND}),))
READ_AGAIN = Move(
    "The edit did not apply, so I read the file again.", (("read_file", {"path": SOURCE}),)
)


def repair_shop(messages: Sequence[BaseMessage], tools: Sequence[object] = ()) -> AIMessage:
    """The next reply of the demo's model; `tools` is what was bound, and is not needed."""
    turn = 1 + sum(isinstance(message, AIMessage) for message in messages)
    move = decide(observations(messages))
    calls = [
        ToolCall(name=name, args=args, id=f"demo-{turn}-{place}", type="tool_call")
        for place, (name, args) in enumerate(move.calls, start=1)
    ]
    return AIMessage(content=move.text, tool_calls=calls)


def observations(messages: Sequence[BaseMessage]) -> list[Seen]:
    """The finished calls since the newest task, in order."""
    seen: list[Seen] = []
    calls: dict[str, ToolCall] = {}
    for message in messages:
        if isinstance(message, HumanMessage) and message.name != "headway":
            seen.clear()
        elif isinstance(message, AIMessage):
            calls |= {call["id"]: call for call in message.tool_calls if call["id"]}
        elif isinstance(message, ToolMessage) and message.tool_call_id in calls:
            call = calls[message.tool_call_id]
            seen.append(Seen(call["name"], call["args"], _result(message.text)))
    return seen


def decide(seen: Sequence[Seen]) -> Move:
    """The rules, by the kind of the newest observation."""
    if not seen:
        return READ_ALL
    last = seen[-1]
    if last.name == "read_file":
        return _mend(seen) if any(past.name == "bash" for past in seen) else RUN_TESTS
    if last.name == "edit":
        return _after_edit(seen)
    return _after_tests(seen)


def _after_edit(seen: Sequence[Seen]) -> Move:
    if seen[-1].ok:
        return RUN_AGAIN
    if sum(past.name == "edit" for past in seen) < MAX_EDITS:
        return READ_AGAIN
    return Move(f"I could not change {SOURCE}: {seen[-1].result.get('message', 'no reason given')}")


def _after_tests(seen: Sequence[Seen]) -> Move:
    run = seen[-1].result
    edited = any(past.name == "edit" and past.ok for past in seen)
    if not seen[-1].ok or run.get("exit_code") is None:
        return Move(f"The tests could not be run: {run.get('message', 'no exit code came back')}")
    if run["exit_code"] == 0:
        return Move(_solved(seen) if edited else "The tests pass already; I changed nothing.")
    if edited:
        return Move("My change did not make the tests pass; what still fails is in their output.")
    return _mend(seen)


def _mend(seen: Sequence[Seen]) -> Move:
    name = _relative_name(seen)
    if name is None:
        return Move(f"The tests fail, and I do not find the cause in {SOURCE}.")
    edit = {
        "path": SOURCE,
        "old_text": f"Path({name})",
        "new_text": f"Path(__file__).with_name({name})",
    }
    return Move(
        f"{SOURCE} looks for {name} in the current directory and silently falls back to its "
        "defaults. The file lies beside the module, so the path has to start there.",
        (("edit", edit),),
    )


def _relative_name(seen: Sequence[Seen]) -> str | None:
    """The quoted file name, from the newest reading of the source."""
    for past in reversed(seen):
        if past.name == "read_file" and past.ok and past.args.get("path") == SOURCE:
            found = _RELATIVE_PATH.search("\n".join(map(str, past.result.values())))
            return found["name"] if found else None
    return None


def _solved(seen: Sequence[Seen]) -> str:
    path = next(past.args["path"] for past in seen if past.name == "edit" and past.ok)
    return (
        f"{path} opened settings.json relative to the current directory, did not find it and "
        "fell back to its defaults, so an order of 2500 paid for delivery. The path now starts at "
        "the module itself, and the tests pass. Tests and settings are unchanged."
    )


def _result(text: str) -> Mapping[str, Any]:
    """The observation as data: the first JSON object in it, else an empty mapping."""
    start = text.find("{")
    try:
        data, _ = json.JSONDecoder().raw_decode(text, start)
    except (ValueError, IndexError):
        return {}
    return data if isinstance(data, dict) else {}
