"""The objective counter: go on while it makes new minima, stop after evaluations without one.

An evaluation is a check of a changed candidate, not a step: reading in between costs nothing.
A run that already got over plateaus earns patience.
"""

from dataclasses import dataclass

from headway.progress.counts import Tally
from headway.progress.memory import HISTORY, Memory, Track
from headway.progress.settings import Flat, ProgressSettings

_MAX_EARNED = 2


@dataclass(frozen=True)
class Reading:
    """One value of a counter in a round."""

    tally: Tally
    value: float
    key: str = ""
    """Which counter: the digest of the call that printed it; empty for the round's own."""
    declared: bool = False
    failure: str = ""
    """Digest of the error class that came with it."""
    known_change: bool = False
    """Whether the workspace is known to have changed since the reading before."""


@dataclass(frozen=True)
class Trend:
    """What a reading means for the run."""

    improved: bool = False
    flat: Track | None = None
    """The counter that did not fall; None: a first reading, or a new minimum."""
    patience: Flat = Flat(tell=1, stop=1)


def follow(memory: Memory, reading: Reading, settings: ProgressSettings) -> Trend:
    """Enter `reading` into `memory` and say whether it is a new minimum."""
    memory.history = [*memory.history, reading.value][-HISTORY:]
    track = memory.track(reading.key)
    if track is None:
        memory.keep_track(_start(memory, reading))
        return Trend()
    improved = _better(reading, track)
    if improved:
        fresh = _start(memory, reading)
        fresh.overcome = min(track.overcome + 1, _MAX_EARNED)
        memory.keep_track(fresh)
        return Trend(improved=True)
    track.flat = min(track.flat + 1, 63)
    track.same = track.same and reading.failure == track.failure
    track.epoch = memory.epoch
    memory.keep_track(track)
    return Trend(flat=track, patience=_patience(memory, track, reading, settings))


def _start(memory: Memory, reading: Reading) -> Track:
    passed = -1 if reading.tally.passed is None else reading.tally.passed
    return Track(reading.key, reading.value, passed, failure=reading.failure, epoch=memory.epoch)


def _better(reading: Reading, track: Track) -> bool:
    if reading.value != track.best:
        return reading.value < track.best
    passed = reading.tally.passed
    return passed is not None and track.passed >= 0 and passed > track.passed


def _patience(memory: Memory, track: Track, reading: Reading, settings: ProgressSettings) -> Flat:
    if reading.declared:
        return settings.flat_declared
    if not reading.known_change:
        backed = memory.score >= settings.backing
        return settings.flat_backed if backed else settings.flat_unknown
    base = settings.flat_same if track.same else settings.flat_other
    return Flat(tell=base.tell + track.overcome, stop=base.stop + track.overcome)
