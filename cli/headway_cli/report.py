"""The end of a run for people: the answer, the facts, and what to type next. Pure functions.

The facts come from the outcome, which has them from the tool log and not from the model.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from headway_cli.change import change_of_call
from headway_cli.events import INDENT, gist_of_call
from headway_cli.terminal import Colour, Terminal, one_line, paint, path_text, visible

Outcome = Mapping[str, Any]
LABEL: Final = 11
MAX_DIFF_LINES: Final = 200
MAX_GIST: Final = 500
MAX_CHECK_LINES: Final = 20

_MEANING: Final[dict[str, str]] = {
    "completed": "completed",
    "invalid_answer": "no acceptable answer came",
    "check_failed": "the check is still red",
    "model_refused": "the model refused",
    "no_progress": "stopped: no progress",
    "limit": "stopped at a limit",
    "model_error": "the model failed",
    "needs_approval": "waits for you",
    "cancelled": "stopped by you",
}
_DIFF_COLOURS: Final[dict[str, Colour]] = {"+": "green", "-": "red", "@": "cyan"}


def report(outcome: Outcome, terminal: Terminal, diff: str = "", bring: str = "") -> str:
    """Answer, facts and next commands; `diff` is the unified diff of the files changed, `bring`
    the command that brings them into the workspace where the run worked elsewhere."""
    parts = [_answer(outcome), _facts(outcome, terminal), _check_output(outcome)]
    parts.append(coloured_diff(diff, terminal))
    parts += [_pending(outcome, terminal), _next(outcome, terminal, bring)]
    return "\n\n".join(part for part in parts if part)


def _answer(outcome: Outcome) -> str:
    answer = visible(str(outcome.get("answer") or "")).strip()
    if outcome["status"] == "completed" or not answer:
        return answer
    return f"So far, not finished:\n{answer}"


def _facts(outcome: Outcome, terminal: Terminal) -> str:
    rows = [*_status_rows(outcome, terminal), *_work_rows(outcome, terminal)]
    rows += [("warning", paint(one_line(text), "yellow", terminal)) for text in _warnings(outcome)]
    return "\n".join(f"{label:<{LABEL}}{text}".rstrip() for label, text in rows)


def _status_rows(outcome: Outcome, terminal: Terminal) -> Iterator[tuple[str, str]]:
    status: str = outcome["status"]
    limit = outcome.get("limit")
    words = _MEANING[status] + (f" ({limit})" if limit else "")
    colour: Colour = "green" if status == "completed" else "yellow"
    yield "status", paint(f"{words}, {_verdict(outcome)}", colour, terminal)
    if outcome.get("missing"):
        yield "missing", one_line(outcome["missing"])
    if outcome.get("next_step"):
        yield "next", one_line(outcome["next_step"])


def _verdict(outcome: Outcome) -> str:
    check = outcome.get("check") or {}
    command = f": {one_line(check['command'])}" if check.get("command") else ""
    if outcome.get("verified") is True:
        return f"verified by the check{command}"
    if outcome.get("verified") is False:
        return f"the check fails{command}"
    return f"not verified by the check{command}" if check else "not verified (no --check)"


def _check_output(outcome: Outcome) -> str:
    """What a red check printed, its end, and where all of it stands."""
    check = outcome.get("check") or {}
    lines = visible(str(check.get("output") or "")).strip().splitlines()
    if outcome.get("verified") is not False or not lines:
        return ""
    earlier = len(lines) - MAX_CHECK_LINES
    head = "the check said"
    if earlier > 0:
        head += f" (the last {MAX_CHECK_LINES} lines; --json has {earlier} more)"
    return "\n".join([f"{head}:", *(INDENT + line for line in lines[-MAX_CHECK_LINES:])])


def _work_rows(outcome: Outcome, terminal: Terminal) -> Iterator[tuple[str, str]]:
    files = outcome.get("files") or []
    commands = outcome.get("commands") or []
    reverted = any(run.get("before_last_change") for run in commands)
    none = "none changed in the end" if reverted else "none changed"
    yield from _labelled("files", _files(files, terminal) or [none])
    yield from _labelled("commands", [_command(run) for run in commands])
    yield "used", _used(outcome)
    if outcome.get("thread"):
        yield "thread", str(outcome["thread"])
    if outcome.get("workspace"):
        yield "workspace", one_line(str(outcome["workspace"]))


def _labelled(label: str, lines: list[str]) -> Iterator[tuple[str, str]]:
    for place, line in enumerate(lines):
        yield label if place == 0 else "", line


def _files(files: Sequence[Mapping[str, Any]], terminal: Terminal) -> list[str]:
    inside = sum(map(inside_git, files))
    rest = [f"{'git':<8} {inside} paths inside .git"] if inside else []
    return [_file(change, terminal) for change in files if not inside_git(change)] + rest


def inside_git(change: Mapping[str, Any]) -> bool:
    """A file that git keeps for itself; those that it obeys or runs are none."""
    return ".git" in change["path"].split("/") and not change.get("runs_by_itself")


def _file(change: Mapping[str, Any], terminal: Terminal) -> str:
    line = f"{change['kind']:<8} {path_text(change['path'])}"
    if change.get("runs_by_itself"):
        line += paint("  (tools run this file by themselves: look at it)", "yellow", terminal)
    return line


def _command(run: Mapping[str, Any]) -> str:
    code = f"exit {run.get('exit_code')}"
    if run.get("exit_code") is None:
        code = "timed out" if run.get("timed_out") else "stopped"
    facts = [run["why"]] if run.get("why") and not run.get("timed_out") else []
    facts += ["before the last change"] if run.get("before_last_change") else []
    told = f"  ({one_line('; '.join(facts))})" if facts else ""
    return f"{code:<8} {one_line(run['command'])}{told}"


def _used(outcome: Outcome) -> str:
    usage, limits = outcome.get("usage") or {}, outcome.get("limits") or {}
    tokens = usage.get("input_tokens", 0) + usage.get("output_tokens", 0)
    parts = [
        _of(usage.get("model_calls", 0), limits.get("model_calls"), "model calls"),
        _of(usage.get("tool_calls", 0), limits.get("tool_calls"), "tool calls"),
        _of(round(usage.get("seconds", 0), 1), limits.get("seconds"), "seconds"),
    ]
    if tokens:
        about = "about " if usage.get("estimated") else ""
        parts.append(about + _of(tokens, limits.get("tokens"), "tokens"))
    if usage.get("cost") is not None:
        parts.append(f"${usage['cost']:.4f}")
    return ", ".join(parts)


def _of(used: float, limit: float | None, unit: str) -> str:
    return f"{used:,g} {unit}" if limit is None else f"{used:,g} of {limit:,g} {unit}"


def _warnings(outcome: Outcome) -> list[str]:
    return [str(text) for text in outcome.get("warnings") or ()]


def coloured_diff(diff: str, terminal: Terminal) -> str:
    """A unified diff, made safe, coloured and cut to `MAX_DIFF_LINES`."""
    lines = visible(diff).splitlines()
    kept = [_painted(line, terminal) for line in lines[:MAX_DIFF_LINES]]
    if len(lines) > MAX_DIFF_LINES:
        kept.append(f"… {len(lines) - MAX_DIFF_LINES} more lines of the diff")
    return "\n".join(kept)


def _painted(line: str, terminal: Terminal) -> str:
    return paint(line, _DIFF_COLOURS[line[0]], terminal) if line[:1] in _DIFF_COLOURS else line


def _pending(outcome: Outcome, terminal: Terminal) -> str:
    rows = [row for action in _waiting(outcome) for row in _wait(action, terminal)]
    errors = [question["error"] for question in outcome.get("pending") or () if "error" in question]
    return "\n".join([*rows, *(f"{'not taken':<{LABEL}}{one_line(text)}" for text in errors)])


def _wait(action: Mapping[str, Any], terminal: Terminal) -> Iterator[str]:
    """A call that waits, and all that a person needs to decide about it."""
    gist = gist_of_call(action["args"])
    cut = f"{gist[:MAX_GIST]}…" if len(gist) > MAX_GIST else gist
    yield f"{'waits':<{LABEL}}{one_line(action['name'])} {cut}"
    if action.get("description"):
        yield f"{'':<{LABEL}}{paint(one_line(action['description']), 'yellow', terminal)}"
    yield from (INDENT + _painted(line, terminal) for line in change_of_call(action["args"]))


def _waiting(outcome: Outcome) -> list[Mapping[str, Any]]:
    return [
        action
        for question in outcome.get("pending") or ()
        for action in question.get("action_requests") or ()
    ]


def _answers(outcome: Outcome) -> str:
    """The flags that decide what waits."""
    questions = [action["name"] == "ask_user" for action in _waiting(outcome)]
    if all(questions):
        return '--answer "text"'
    answer = ' --answer "text"' if any(questions) else ""
    return f'--approve{answer}   (or --reject "why")'


def _next(outcome: Outcome, terminal: Terminal, bring: str) -> str:
    thread = outcome.get("thread")
    if not thread:
        return ""
    rows = [("look at it", f"headway show {thread}"), ("go back", f"headway undo {thread}")]
    if bring:
        rows.append(("take over", f"{bring}   (this run's work is not in the workspace yet)"))
    if outcome["status"] == "needs_approval":
        rows.append(("decide", f"headway resume {thread} {_answers(outcome)}"))
    else:
        rows.append(("go on", f'headway resume {thread} "…"'))
    return "\n".join(f"{label:<{LABEL}}{paint(line, 'bold', terminal)}" for label, line in rows)
