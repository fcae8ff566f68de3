"""How a call failed: one class for all spellings of an error, and the states that only wait."""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from headway.progress.facts import CallFact
from headway.progress.text import mask_noise, strip_echo, words

_EXCEPTION = re.compile(r"^(?:[\w.]+\.)?[A-Z]\w*(?:Error|Exception|Warning|Interrupt)\b")
_TRACEBACK = "Traceback (most recent call last)"
_ERROR_LINE = re.compile(
    r"(?i)\b(?:errors?|exceptions?|failed|failures?|fatal|panic(?:ked)?|no such|not found|"
    r"cannot|can't|could not|couldn't|denied|unable to|invalid|illegal|malformed|undefined|"
    r"unexpected|unknown|unrecognized|refused|rejected|missing|"
    r"not (?:allowed|permitted|supported|available|recognized)|"
    r"does not exist|doesn't exist|timed out|timeout|please retry|unavailable|"
    r"too many requests|rate.?limit|overloaded|segmentation fault)\b"
)
_ERROR_WORDS = (
    ("error", "exception", "fail", "fatal", "panic", "no such", "not ", "cannot", "can't")
    + ("could", "denied", "unable", "invalid", "illegal", "malformed", "undefined", "unexpected")
    + ("unknown", "unrecognized", "refused", "rejected", "missing", "doesn't", "timed out")
    + ("timeout", "retry", "unavailable", "too many", "rate limit", "rate-limit", "ratelimit")
    + ("overloaded", "segmentation")
)
"""One of these is in every line that `_ERROR_LINE` matches: cheap to look for."""
_ERROR_START = re.compile(
    r"(?i)\W{0,3}(?:\w+ )?(?:error|exception|failed|fatal|traceback|cannot|could not|unable to)\b"
)
_TRANSIENT = re.compile(
    r"(?i)\b(?:429|50[0234])\b|rate.?limit|too many requests|service unavailable|bad gateway|"
    r"gateway time-?out|temporarily unavailable|connection (?:refused|reset)|overloaded|"
    r"try again later|temporary failure in name resolution"
)
_STATE = (
    r"(?:queued|pending|running|in[ _]progress|not ready|waiting|starting|provisioning|building|"
    r"processing)\b"
)
_WAITING = re.compile(
    rf"(?i)\b(?:status|state|phase|progress)\W{{1,4}}{_STATE}|\bstill {_STATE}|"
    rf"^\W*(?:currently )?{_STATE}\W*$|\bnot (?:yet )?(?:ready|finished|done|complete)\b"
)
_SLEEP = re.compile(r"^\s*(?:sleep|wait)\b")
_SILENT = re.compile(r"exit code \d+$")
_NOTHING = re.compile(
    r"(?i)^\W*(?:$|exit code \d+$|no (?:matches|results?|rows|files|hits|entries|records|items)\b|"
    r"nothing\b|0 (?:matches|results|rows|hits)\b|"
    r"empty set|none\W*$|null\W*$|could not find|not found)"
)
_MASKS: tuple[tuple[re.Pattern[str], str], ...] = (
    (re.compile(r"\"[^\"\n]*\"|'[^'\n]*'|`[^`\n]*`|‘[^’\n]*’|“[^”\n]*”"), "<q>"),
    (re.compile(r"(?<![\w.])(?:[A-Za-z]:)?[/\\][\w.+\-/\\]+"), "<path>"),
    (re.compile(r"\d+(?:[.,]\d+)*"), "<n>"),
    (re.compile(r"\s+"), " "),
)
_TOKEN = re.compile(r"[A-Za-z_][\w-]{2,}")


@dataclass(frozen=True)
class Result:
    """An observation, opened: the text to compare, whether it failed and in which class."""

    text: str
    failure: str | None = None
    """The class of the error: names, numbers and echoed arguments masked."""
    line: str = ""
    """The error as it names things; only what changes by itself is masked."""
    transient: bool = False
    waiting: bool = False
    sleeping: bool = False
    nothing: bool = False
    silent: bool = False
    """A command that failed without a word: how searches and tests say no."""


def read_result(call: CallFact) -> Result:
    """Open `call.observation`: what it says, how it failed, whether it only waits."""
    text, failed = _open(call.observation)
    line = _failing_line(call, text, True if call.status == "error" else failed)
    failure = None if line is None else error_class(line, call.args) or "failed"
    sleeping = _sleeps(call)
    return Result(
        text=text,
        failure=failure,
        line=mask_noise(line or ""),
        transient=failure is not None and bool(_TRANSIENT.search(text[:600])),
        waiting=call.kind == "poll"
        or sleeping
        or (failure is None and len(text) <= 400 and bool(_WAITING.search(text))),
        sleeping=sleeping and not text.strip(),
        nothing=len(text) <= 200 and bool(_NOTHING.match(text)),
        silent=failure is None and bool(_SILENT.match(text)),
    )


def _sleeps(call: CallFact) -> bool:
    return any(
        _SLEEP.match(text) is not None
        for text in (call.name, str(call.args.get("cmd") or call.args.get("command") or ""))
    )


def _open(observation: str) -> tuple[str, bool | None]:
    """The text of an observation, and whether its form says that the call failed (None: it has
    no form). A command that failed without a word is no failure here."""
    data = _fields(observation)
    if data is None:
        return observation, None
    exit_code = data.get("exit_code")
    bad_exit = isinstance(exit_code, int) and exit_code != 0
    parts = [str(data[key]) for key in ("stdout", "stderr", "output", "content") if data.get(key)]
    error = data.get("error")
    failed = data.get("ok") is False or bool(error) or (bad_exit and bool(parts))
    if error:
        parts.insert(0, f"error {error}: {data.get('message', '')}")
    elif not parts and "stdout" not in data:
        return observation, failed
    if bad_exit:
        parts.append(f"exit code {exit_code}")
    return "\n".join(parts), failed


def _fields(observation: str) -> dict[str, Any] | None:
    if not observation.startswith("{"):
        return None
    try:
        data = json.loads(observation)
    except ValueError:
        return None
    known = {"ok", "exit_code", "stdout", "error"}
    return data if isinstance(data, dict) and data.keys() & known else None


def _failing_line(call: CallFact, text: str, failed: bool | None) -> str | None:
    """The line that names the failure; None where nothing failed. Only a text without any form,
    of a call that only looks, is searched for words of failure anywhere."""
    if call.problem:
        return f"problem {call.problem}"
    if failed:
        return _error_line(text) or next((x for x in text.splitlines() if x.strip()), "")
    if failed is None and call.kind != "write":
        return _error_line(text)
    return next((x for x in text.splitlines()[:3] if _ERROR_START.match(x)), None)


def _error_line(text: str) -> str | None:
    lines = text.splitlines()
    if len(lines) > 40:
        lines = lines[:15] + lines[-25:]
    if _TRACEBACK in text:
        for line in reversed(lines):
            if _EXCEPTION.match(line.strip("│ ")):
                return line.strip("│ ")
    if not _hints("\n".join(lines)):
        return None
    for line in lines:
        if _hints(line[:160]) and _ERROR_LINE.search(line[:160]):
            return line[:400]
    return None


def _hints(text: str) -> bool:
    low = text.lower()
    return any(word in low for word in _ERROR_WORDS)


def error_class(line: str, args: Mapping[str, Any]) -> str:
    """The error with its names, numbers, paths and echoed arguments masked, lower case."""
    line = strip_echo(line[:400], args)
    for pattern, put in _MASKS:
        line = pattern.sub(put, line)
    echoed = words(args)
    line = _TOKEN.sub(
        lambda match: "<arg>" if match.group().lower() in echoed else match.group(), line
    )
    return line.strip().lower()[:160]
