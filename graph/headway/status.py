"""Why a run stopped, as data. The same words in state, JSON, documentation and exit codes."""

from typing import Final, Literal

Status = Literal[
    "completed",
    "invalid_answer",
    "check_failed",
    "model_refused",
    "no_progress",
    "limit",
    "model_error",
    "needs_approval",
    "cancelled",
]
"""The words; `MEANING` says what each one means."""

LimitKind = Literal["model_calls", "tool_calls", "tokens", "cost", "seconds", "steps"]
"""`steps` is the outer recursion limit of LangGraph."""

MEANING: Final[dict[Status, str]] = {
    "completed": "an answer was accepted; `verified` is true if the check passed, null without one",
    "invalid_answer": "no acceptable answer came: empty, cut, a call as text",
    "check_failed": "the check stayed red",
    "model_refused": "refusal or content filter",
    "no_progress": "the detector ended it, the model was still calling tools",
    "limit": "a limit was reached (seconds: 124)",
    "model_error": "the model failed for good",
    "needs_approval": "a person must decide or answer",
    "cancelled": "stopped from outside (SIGHUP: 129, SIGTERM: 143)",
}
"""In the documentation's words, with what `exit_code` makes of the exceptions."""

USAGE_ERROR: Final = 2
"""No run started: wrong use, no sandbox, branch busy, newer schema."""

_EXIT: Final[dict[Status, int]] = {
    "completed": 0,
    "invalid_answer": 1,
    "check_failed": 1,
    "model_refused": 1,
    "no_progress": 3,
    "limit": 4,
    "model_error": 5,
    "needs_approval": 6,
    "cancelled": 130,
}


def exit_code(status: Status, limit: str | None = None, *, ended_by: int = 0) -> int:
    """The process exit code of a status: `limit` of kind seconds is 124, as in GNU timeout;
    `cancelled` by a signal (`ended_by`) is 128 and its number, as for Ctrl-C."""
    if status == "limit" and limit == "seconds":
        return 124
    if status == "cancelled" and ended_by:
        return 128 + ended_by
    return _EXIT[status]
