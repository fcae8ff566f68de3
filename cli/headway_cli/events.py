"""Progress for people: `render(event, terminal)` is one event of a run as text, or nothing."""

import json
from collections.abc import Callable, Mapping
from typing import Any, Final

from headway_cli.terminal import Colour, Terminal, clip, one_line, paint, visible

Event = Mapping[str, Any]
INDENT: Final = "    "
NO_SANDBOX: Final = "WARNING: no sandbox. Commands run as you, with all your files and the network."
BESIDE: Final = (
    "WARNING: also at work in this folder: {}. Calls that change files take turns; undo of the one "
    "leaves the other's changes."
)
NOTE_LINES: Final = 12
NOTE_WIDTH: Final = 400
"""Columns of a note's line where the terminal sets no bound."""
_FIRST_ARGUMENTS: Final = ("command", "path", "thought", "question", "output", "query")
"""The argument that says most about a call, by name."""


def render(event: Event, terminal: Terminal) -> str:
    """Lines without a final newline; empty for events that have nothing to show by themselves."""
    renderer = _RENDERERS.get(str(event.get("type")))
    return renderer(event, terminal) if renderer else ""


def _start(event: Event, terminal: Terminal) -> str:
    lines = [
        clip(f"{name:<10}{one_line(str(event[name]))}", terminal.width)
        for name in ("thread", "model", "workspace", "task")
        if event.get(name)
    ]
    shown = [paint(line, "dim", terminal) for line in lines]
    if event.get("sandbox") == "none":
        shown.append(paint(NO_SANDBOX, "red", terminal))
    if beside := event.get("beside"):
        shown.append(paint(BESIDE.format(one_line(", ".join(beside))), "yellow", terminal))
    return "\n".join(shown)


def _thought(event: Event, terminal: Terminal) -> str:
    text = visible(str(event.get("text", ""))).strip()
    return "\n" + paint(text, "cyan", terminal) if text else ""


def _call(event: Event, terminal: Terminal) -> str:
    turn, tool = one_line(str(event.get("turn", ""))), one_line(str(event.get("tool", "")))
    head = f"{turn:>2}  {tool}"
    rest = clip(gist_of_call(event.get("args") or {}), max(terminal.width - len(head) - 1, 1))
    return f"{paint(head, 'bold', terminal)} {rest}".rstrip()


def _observation(event: Event, terminal: Terminal) -> str:
    text, colour = gist_of_observation(str(event.get("text", "")), str(event.get("status", "")))
    name = one_line(str(event.get("tool", "")))
    return paint(clip(f"{INDENT}{name}: {text}", terminal.width), colour, terminal)


def _note(event: Event, terminal: Terminal) -> str:
    """The first line, and of more than one (a red check's output) the last below it."""
    text = visible(f"{event.get('about', 'note')}: {event.get('text', '')}")
    first, *rest = [line for line in text.splitlines() if line.strip()]
    kept = rest[-NOTE_LINES:]
    hidden = len(rest) - len(kept)
    lines = [first, *([f"{INDENT}… {hidden} lines left out"] if hidden else [])]
    lines += [INDENT + line for line in kept]
    width = min(terminal.width, NOTE_WIDTH)
    return "\n".join(paint(clip(INDENT + line, width), "yellow", terminal) for line in lines)


_RENDERERS: Final[dict[str, Callable[[Event, Terminal], str]]] = {
    "start": _start,
    "thought": _thought,
    "call": _call,
    "observation": _observation,
    "note": _note,
}


def gist_of_call(args: Mapping[str, Any]) -> str:
    """What a call is about, on one line."""
    for name in _FIRST_ARGUMENTS:
        if name in args:
            return one_line(str(args[name]))
    return one_line(json.dumps(args, ensure_ascii=False)) if args else ""


def gist_of_observation(text: str, status: str) -> tuple[str, Colour]:
    """What came back, on one line: an error's message, an exit code and the last line, a size."""
    result = _as_object(text)
    if result is None:
        return _first_line(text), "red" if status == "error" else "dim"
    if result.get("ok") is False:
        said = f"{result.get('error', 'error')}: {result.get('message', '')}"
        return one_line(said), "red"
    if "exit_code" in result:
        return _gist_of_command(result)
    body = result.get("text", result.get("content"))
    if isinstance(body, str):
        count = len(body.splitlines())
        return f"{count} line{'s' * (count != 1)}", "dim"
    told = {key: value for key, value in result.items() if key not in ("ok", "preview")}
    return one_line(", ".join(f"{key} {value}" for key, value in told.items())) or "ok", "green"


def _gist_of_command(result: Mapping[str, Any]) -> tuple[str, Colour]:
    code = result["exit_code"]
    said = _last_line(str(result.get("stderr") or "")) or _last_line(
        str(result.get("stdout") or "")
    )
    head = f"exit {code}"
    if code is None:
        head = "timed out" if result.get("timed_out") else str(result.get("note", "stopped"))
    return one_line(f"{head}  {said}"), "green" if code == 0 else "yellow"


def _as_object(text: str) -> dict[str, Any] | None:
    try:
        data, _ = json.JSONDecoder().raw_decode(text.lstrip())
    except ValueError:
        return None
    return data if isinstance(data, dict) else None


def _first_line(text: str) -> str:
    return one_line(next((line for line in text.splitlines() if line.strip()), "(empty)"))


def _last_line(text: str) -> str:
    return next((line for line in reversed(text.splitlines()) if line.strip()), "")
