"""The detector's memory: at most 1 kB of plain JSON, whatever the length of the run.

Pairs of (call, result) are kept as fixed-width records, the latest last; when the table is full
the one not met for longest is forgotten. Cycles are seen up to `PAIRS` rounds long.
"""

from dataclasses import dataclass, field
from typing import Any, NamedTuple

PAIRS = 32
ERRORS = 12
TRACKS = 2
HISTORY = 6
EPOCHS = 64
_ALPHABET = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
_PAIR_WIDTH = 10
_ERROR_WIDTH = 5


class Pair(NamedTuple):
    """One (call, result) met `times` times, last when the workspace stood at `epoch`."""

    call: str
    result: str
    times: int
    epoch: int


@dataclass
class Track:
    """One objective counter: its best values, and the evaluations since without a better one."""

    key: str
    best: float
    passed: int = -1
    flat: int = 0
    failure: str = ""
    same: bool = True
    epoch: int = 0
    overcome: int = 0
    told: bool = False


@dataclass
class Memory:
    """Decoded form of the plain data in the checkpoint; `load({})` is the start of a run."""

    score: float = 0.0
    told: bool = False
    epoch: int = 0
    bare: int = 0
    stormy: int = 0
    pairs: list[str] = field(default_factory=list)
    """Records as they are stored: opened only when one is met again."""
    errors: list[tuple[str, int]] = field(default_factory=list)
    topic: list[str] = field(default_factory=list)
    tracks: list[Track] = field(default_factory=list)
    history: list[float] = field(default_factory=list)

    @classmethod
    def load(cls, data: dict[str, Any]) -> "Memory":
        """Decode; what another version wrote is ignored (the run starts afresh)."""
        if data.get("v") != 1:
            return cls()
        return cls(
            score=data["score"],
            told=data["told"],
            epoch=data["epoch"],
            bare=data["bare"],
            stormy=data["stormy"],
            pairs=_rows(data["pairs"], _PAIR_WIDTH),
            errors=_unpack_errors(data["errors"]),
            topic=list(data["topic"]),
            tracks=[Track(*row) for row in data["tracks"]],
            history=list(data["history"]),
        )

    def dump(self) -> dict[str, Any]:
        """Plain JSON data of at most 1 kB."""
        return {
            "v": 1,
            "score": round(self.score, 2),
            "told": self.told,
            "epoch": self.epoch,
            "bare": min(self.bare, 63),
            "stormy": min(self.stormy, 63),
            "pairs": "".join(self.pairs),
            "errors": "".join(key + _ALPHABET[count] for key, count in self.errors),
            "topic": self.topic,
            "tracks": [
                [t.key, t.best, t.passed, t.flat, t.failure, t.same, t.epoch, t.overcome, t.told]
                for t in self.tracks
            ],
            "history": self.history,
        }

    def pair(self, call: str, result: str) -> Pair | None:
        """The record of this call with this result."""
        start = call + result
        row = next((row for row in self.pairs if row.startswith(start)), None)
        if row is None:
            return None
        return Pair(call, result, _ALPHABET.index(row[8]), _ALPHABET.index(row[9]))

    def result_seen(self, result: str) -> bool:
        """Whether any call brought this result."""
        return any(row[4:8] == result for row in self.pairs)

    def call_seen(self, call: str) -> bool:
        """Whether this call was made before, whatever it brought."""
        return any(row.startswith(call) for row in self.pairs)

    def last_call(self) -> str:
        """The latest call."""
        return self.pairs[-1][:4]

    def error_count(self, error: str) -> int:
        """How often this error class was met."""
        return next((count for key, count in self.errors if key == error), 0)

    def keep_pair(self, call: str, result: str) -> None:
        """Count the pair and make it the latest."""
        old, start = self.pair(call, result), call + result
        count = min((old.times if old else 0) + 1, len(_ALPHABET) - 1)
        others = [row for row in self.pairs if not row.startswith(start)]
        self.pairs = [*others[-(PAIRS - 1) :], start + _ALPHABET[count] + _ALPHABET[self.epoch]]

    def keep_error(self, error: str) -> None:
        """Count the error class and make it the latest."""
        count = min(self.error_count(error) + 1, len(_ALPHABET) - 1)
        self.errors = [e for e in self.errors if e[0] != error][-(ERRORS - 1) :]
        self.errors.append((error, count))

    def track(self, key: str) -> Track | None:
        """The counter kept under `key`."""
        return next((t for t in self.tracks if t.key == key), None)

    def keep_track(self, track: Track) -> None:
        """Make this counter the latest; the older of two others is forgotten."""
        self.tracks = [t for t in self.tracks if t.key != track.key][-(TRACKS - 1) :]
        self.tracks.append(track)

    def next_epoch(self) -> None:
        """The workspace changed."""
        self.epoch = (self.epoch + 1) % EPOCHS


def _rows(text: str, width: int) -> list[str]:
    return [text[i : i + width] for i in range(0, len(text), width)]


def _unpack_errors(text: str) -> list[tuple[str, int]]:
    return [(row[:4], _ALPHABET.index(row[4])) for row in _rows(text, _ERROR_WIDTH)]
