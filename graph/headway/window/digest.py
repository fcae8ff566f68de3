"""What a left out stretch of steps did, as one text in place of its last observation."""

import json
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from langchain_core.messages import AIMessage, BaseMessage, ToolMessage

from headway.window.brief import FAILURE_CHARACTERS, brief, failed, message_text, output_id
from headway_tools.blocks import READ_OUTPUT

_CALL_CHARACTERS: Final = 120
_THOUGHT_CHARACTERS: Final = 240

_WRITERS: Final = ("edit", "write", "create", "delete", "move", "patch")


def digest(messages: Sequence[BaseMessage], files: Iterable[str], room: int) -> str:
    """About `room` characters: the changed `files`, the model's own words, the calls and how they
    ended, the last failure."""
    answers = _answers(messages)
    newest = [message for message in reversed(messages) if isinstance(message, AIMessage)]
    parts = [
        f"[headway left out {len(newest)} earlier steps here to fit the context window]",
        _listed("Files changed", reversed(dict.fromkeys(files)), room // 5),
        _listed("What you said", map(_thought, newest), room // 4),
        _listed("What you did", _calls(newest, answers), room // 3),
        _failure(messages, min(room // 5, FAILURE_CHARACTERS)),
    ]
    return "\n".join(filter(None, parts))


def edited_files(messages: Sequence[BaseMessage]) -> list[str]:
    """Paths that successful calls of editing tools named, in order."""
    answers = _answers(messages)
    paths: dict[str, None] = {}
    for message in messages:
        for call in message.tool_calls if isinstance(message, AIMessage) else ():
            path = call["args"].get("path")
            if isinstance(path, str) and any(word in call["name"] for word in _WRITERS):
                answer = answers.get(call["id"] or "")
                paths |= {path: None} if answer is not None and not failed(answer) else {}
    return list(paths)


def last_failure(messages: Sequence[BaseMessage]) -> int | None:
    """Place of the newest observation of a failure."""
    for place in range(len(messages) - 1, -1, -1):
        message = messages[place]
        if isinstance(message, ToolMessage) and failed(message):
            return place
    return None


def _answers(messages: Iterable[BaseMessage]) -> dict[str, ToolMessage]:
    return {m.tool_call_id: m for m in messages if isinstance(m, ToolMessage)}


def _failure(messages: Sequence[BaseMessage], room: int) -> str:
    place = last_failure(messages)
    if place is None:
        return ""
    message = messages[place]
    return f"The last failure ({message.name or 'tool'}):\n{brief(message_text(message), room)}"


def _thought(reply: AIMessage) -> str:
    words = [message_text(reply)]
    for call in reply.tool_calls:
        words += map(str, call["args"].values()) if call["name"] == "think" else ()
    return _one_line(" ".join(words), _THOUGHT_CHARACTERS)


def _calls(newest: Iterable[AIMessage], answers: dict[str, ToolMessage]) -> Iterator[str]:
    for reply in newest:
        for call in reversed(reply.tool_calls):
            answer = answers.get(call["id"] or "")
            end = _end(answer) if answer is not None else "not answered"
            args = json.dumps(call["args"], ensure_ascii=False, default=str)
            if call["name"] not in ("think", READ_OUTPUT):
                yield f"{call['name']} {_one_line(args, _CALL_CHARACTERS)}: {end}"


def _end(answer: ToolMessage) -> str:
    whole = output_id(message_text(answer))
    return ("failed" if failed(answer) else "ok") + (f", output {whole}" if whole else "")


def _one_line(text: str, characters: int) -> str:
    line = " ".join(text[: 4 * characters].split())
    return line if len(line) <= characters else line[:characters] + "…"


def _listed(title: str, newest: Iterable[str], room: int) -> str:
    """The newest entries within `room` characters, one a line, the newest last."""
    kept: list[str] = []
    for entry in filter(None, newest):
        room -= len(entry) + 3
        if room < 0:
            title += " (the newest)"
            break
        kept.append(f"- {entry}")
    return "\n".join([f"{title}:", *reversed(kept)]) if kept else ""
