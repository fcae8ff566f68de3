"""A reply of the text protocol while it is being written: what may already be shown of it."""

from typing import Final

from headway.protocol.reading import LONGEST_LABEL, label_of, read_reply
from headway.reply import split_thinking

_SHARE: Final = 64
"""The text is read again once it has grown by this part of itself, so that a long reply does not
cost its square."""


class Live:
    """Feed pieces of the raw text, get pieces of the message's text.

    All pieces, with that of `close`, are `read_reply(raw).text`. A thought is shown once its
    action has begun, an answer as it is written.
    """

    def __init__(self) -> None:
        self.raw = ""
        self._shown = ""
        self._next = 0

    def feed(self, part: str) -> str:
        """What `part` adds."""
        self.raw += part
        if len(self.raw) < self._next:
            return ""
        self._next = len(self.raw) + len(self.raw) // _SHARE
        reading = read_reply(_settled(split_thinking(self.raw)[1]))
        return self._new(reading.text) if reading.complete else ""

    def close(self) -> str:
        """What is left at the end."""
        return self._new(read_reply(split_thinking(self.raw)[1]).text)

    def _new(self, text: str) -> str:
        new, self._shown = text[len(self._shown) :], text
        return new


def _settled(text: str) -> str:
    """`text` without a last line that the next piece may give another meaning."""
    head, newline, line = text.rpartition("\n")
    label = label_of(line)
    if label == "answer":
        return text
    long = len(line.strip(" \t>#*_`")) > LONGEST_LABEL
    return text if newline and long and not label else head
