"""Bounded capture of what a process prints: the first and the last half, decoded once."""

from collections import deque


class Capture:
    """Keeps at most `limit` bytes: the first half and the last half."""

    def __init__(self, limit: int) -> None:
        self._half = max(limit // 2, 1)
        self._head = bytearray()
        self._tail: deque[bytes] = deque()
        self._tail_size = 0
        self.total = 0

    def feed(self, data: bytes) -> None:
        """Take what was read."""
        self.total += len(data)
        room = self._half - len(self._head)
        if room > 0:
            self._head += data[:room]
            data = data[room:]
        if data:
            self._tail.append(data)
            self._tail_size += len(data)
            while self._tail_size - len(self._tail[0]) >= self._half:
                self._tail_size -= len(self._tail.popleft())

    def text(self) -> tuple[str, int]:
        """What was kept, and how many bytes between the halves were not."""
        tail = b"".join(self._tail)[-self._half :]
        omitted = self.total - len(self._head) - len(tail)
        if not omitted:
            return decode(bytes(self._head) + tail), 0
        head, tail = _whole_end(bytes(self._head)), _whole_start(tail)
        omitted = self.total - len(head) - len(tail)
        note = f"\n[... {omitted} bytes not kept ...]\n"
        return decode(head) + note + decode(tail), omitted


def decode(data: bytes) -> str:
    r"""UTF-8; bytes that are none appear as `\xff`."""
    return data.decode("utf-8", "backslashreplace")


def _whole_end(data: bytes) -> bytes:
    """Without the first bytes of a character that was cut at the end."""
    for back in range(1, min(4, len(data) + 1)):
        byte = data[-back]
        if byte & 0xC0 != 0x80:
            wanted = 4 if byte >= 0xF0 else 3 if byte >= 0xE0 else 2 if byte >= 0xC0 else 1
            return data[:-back] if wanted > back else data
    return data


def _whole_start(data: bytes) -> bytes:
    """Without the last bytes of a character that was cut at the start."""
    for start in range(min(4, len(data))):
        if data[start] & 0xC0 != 0x80:
            return data[start:]
    return data
