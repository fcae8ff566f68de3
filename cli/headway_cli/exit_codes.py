"""The exit codes as the help shows them; `headway.status.exit_code` is what computes them."""

from typing import Final

EXIT_CODES: Final[dict[int, str]] = {
    0: "completed",
    1: "no acceptable answer, a red check, a refusal; replay --check diverged",
    2: "nothing was run: wrong use, no sandbox, the thread is busy or of a newer version",
    3: "stopped: no progress",
    4: "stopped at a limit",
    5: "the model failed for good",
    6: "waits for your approval or answer",
    124: "stopped at the limit of seconds",
    130: "stopped by Ctrl-C",
    143: "stopped by SIGTERM",
}


def exit_code_table() -> str:
    """One code a line."""
    return "\n".join(f"  {code:<4} {meaning}" for code, meaning in EXIT_CODES.items())
