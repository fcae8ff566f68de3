"""What a left out stretch of steps did, as one text in place of its last observation."""

import json
from collections.abc import Iterable, Sequence
from typing import Final

from langchain_core.messages import AIMessage, BaseMessage, ToolMessage

from headway.window.brief import FAILURE_CHARACTERS, brief, failed, message_text, output_id
from headway_tools.read_output import READ_OUTPUT

_CALL_CHARACTERS: Final = 120
_THOUGHT_CHARACTERS: Final = 240

_WRITERS: Final = ("edit", "write", "create", "delete", "move", "patch")


def digest(messages: Sequence[BaseMessage], changed: Iterable[str], room: int) -> str:
    """About `room` characters: the files changed, the model's own words, the calls and how they
    ended, the last failure. `changed` are files known to have changed besides."""
    answers = {m.tool_call_id: m for m in messages if isinstance(m, ToolMessage)}
    replies = [m for m in messages if isinstance(m, AIMessage)]
    failures = [m for m in answers.values() if failed(m)]
    files = dict.fromkeys([*changed, *_edited(replies, answers)])
    parts = [
        f"[headway left out {len(replies)} earlier steps here to fit the context window]",
        _listed("Files changed", list(files), room // 5),
        _listed("What you said", [_thought(reply) for reply in replies], room // 4),
        _listed("What you did", list(_calls(replies, answers)), room // 3),
    ]
    if failures:
        last = failures[-1]
        text = brief(message_text(last), min(room // 5, FAILURE_CHARACTERS))
        parts.append(f"The last failure ({last.name or 'tool'}):\n{text}")
    return "\n".join(filter(None, parts))


def edited_files(messages: Sequence[BaseMessage]) -> list[str]:
    """Paths that successful calls of editing tools named, in order."""
    answers = {m.tool_call_id: m for m in messages if isinstance(m, ToolMessage)}
    return list(dict.fromkeys(_edited([m for m in messages if isinstance(m, AIMessage)], answers)))


def _edited(replies: Iterable[AIMessage], answers: dict[str, ToolMessage]) -> Iterable[str]:
    for reply in replies:
        for call in reply.tool_calls:
            path, answer = call["args"].get("path"), answers.get(call["id"] or "")
            done = answer is not None and not failed(answer)
            if done and isinstance(path, str) and any(word in call["name"] for word in _WRITERS):
                yield path


def _thought(reply: AIMessage) -> str:
    words = [message_text(reply)]
    words += [
        str(v)
        for call in reply.tool_calls
        if call["name"] == "think"
        for v in call["args"].values()
    ]
    return _one_line(" ".join(words), _THOUGHT_CHARACTERS)


def _calls(replies: Iterable[AIMessage], answers: dict[str, ToolMessage]) -> Iterable[str]:
    for reply in replies:
        for call in reply.tool_calls:
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


def _listed(title: str, entries: Sequence[str], room: int) -> str:
    """The newest entries within `room` characters, one a line."""
    entries = [entry for entry in entries if entry]
    kept: list[str] = []
    for entry in reversed(entries):
        room -= len(entry) + 3
        if room < 0:
            break
        kept.append(f"- {entry}")
    if not kept:
        return ""
    earlier = f" (the newest {len(kept)} of {len(entries)})" if len(kept) < len(entries) else ""
    return "\n".join([f"{title}{earlier}:", *reversed(kept)])
