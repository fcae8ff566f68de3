"""Errors, sorted by who must act.

- `ToolFailure`: the model acts. It becomes an observation with a code and a next step.
- `HeadwayError`: the user acts. One line that names the fix; exit code 2.
- `SandboxError`: a `HeadwayError` of the isolation itself, never the command's own result.
- anything else: ours. It crashes.
"""

from typing import Literal

FailureCode = Literal[
    "not_found",
    "outside_workspace",
    "protected",
    "hidden",
    "not_a_file",
    "is_a_directory",
    "permission_denied",
    "binary",
    "too_large",
    "past_end",
    "encoding",
    "ambiguous",
    "no_match",
    "no_change",
    "exists",
    "changed",
    "hard_link",
    "invalid_arguments",
    "unknown_tool",
    "unknown_output",
    "expired",
    "timeout",
    "cancelled",
    "interrupted",
    "not_run",
    "rejected",
    "sandbox_failed",
    "io_error",
    "tool_error",
    "check_failed",
]


class HeadwayError(RuntimeError):
    """The user can mend this: the message is one line and names the fix.

    A RuntimeError, because LangGraph's servers hide the message of a bare Exception.
    """


class SandboxError(HeadwayError):
    """The isolation could not be set up or broke; no statement about the command is made."""


class ToolFailure(Exception):
    """The model can mend this: a code, what happened, and the next step to try.

    `details` is plain JSON data that the observation carries besides (positions, nearest lines).
    """

    def __init__(self, code: FailureCode, message: str, next_step: str, **details: object) -> None:
        super().__init__(f"{code}: {message}")
        self.code: FailureCode = code
        self.message = message
        self.next_step = next_step
        self.details = details

    def as_result(self) -> dict[str, object]:
        """The observation: `{"ok": false, "error": code, "message", "next_step", ...details}`."""
        return {
            "ok": False,
            "error": self.code,
            "message": self.message,
            "next_step": self.next_step,
            **self.details,
        }


def unexpected(said: str) -> ToolFailure:
    """The failure for an exception that a tool did not mean for the model."""
    return ToolFailure("tool_error", said, "check the arguments, or go another way")
