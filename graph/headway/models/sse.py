"""Server-sent events from bytes, cut anywhere: only the `data` lines of completions streams."""

from codecs import BOM_UTF8
from collections.abc import Iterator


class EventReader:
    """Feed bytes as they come, get the data of each complete event.

    Lines end at CR, LF or CRLF only (a text reader would also cut at U+2028 inside JSON).
    """

    def __init__(self) -> None:
        self._rest = b""
        self._data: list[bytes] = []
        self.head = b""
        """The first bytes, for an endpoint that answers something else than events."""

    def feed(self, part: bytes) -> Iterator[str]:
        """The events that `part` completes."""
        if len(self.head) < 1 << 20 and not self.saw_events:
            self.head += part
        whole = (self._rest + part).replace(b"\r\n", b"\n")
        held = b"\r" if whole.endswith(b"\r") else b""
        lines = whole.removesuffix(b"\r").replace(b"\r", b"\n").split(b"\n")
        self._rest = lines.pop() + held
        for line in lines:
            yield from self._line(line)

    def close(self) -> Iterator[str]:
        """The last event, of a server that does not end it with an empty line."""
        yield from self._line(self._rest.rstrip(b"\r"))
        yield from self._line(b"")
        self._rest = b""

    saw_events = False

    def _line(self, line: bytes) -> Iterator[str]:
        line = line.removeprefix(BOM_UTF8)
        if line.startswith(b"data:"):
            self.saw_events = True
            self._data.append(line[5:].removeprefix(b" "))
        elif not line and self._data:
            yield b"\n".join(self._data).decode("utf-8", "replace")
            self._data = []
