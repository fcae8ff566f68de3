"""What a terminal would have shown: no escape sequences, no overwritten states of a line."""

import re

from headway_tools.values import clean_text

_SEQUENCE = re.compile(
    r"\x1b\[[0-?]*[ -/]*[@-~]"  # colours, cursor
    r"|\x1b\][^\x07\x1b\n]*(?:\x07|\x1b\\)"  # titles, links
    r"|\x1b[PX^_][^\x1b\n]*\x1b\\"
    r"|\x1b[ -/]*[0-~]"
)
_OVERSTRUCK = re.compile(r"[^\n\x08]\x08")
_CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff]")


def terminal_text(text: str) -> str:
    r"""`text` without colours and overwritten progress; other control bytes as `\x07`.

    Line ends stay where they are, so lines keep their numbers. Idempotent.
    """
    if not _CONTROL.search(text):
        return text
    text = _SEQUENCE.sub("", text)
    if "\r" in text:
        text = "\n".join(map(_last_state, text.replace("\r\n", "\n").split("\n")))
    text = _OVERSTRUCK.sub("", text)
    return _CONTROL.sub(_visible, clean_text(text))


def _last_state(line: str) -> str:
    if "\r" not in line:
        return line
    states = [state for state in line.split("\r") if state.strip()]
    if len(states) < 2:
        return "".join(states)
    return f"[{len(states) - 1} earlier states of this line left out] {states[-1]}"


def _visible(match: re.Match[str]) -> str:
    return f"\\x{ord(match[0]):02x}"
