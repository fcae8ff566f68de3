"""The detector: a pure function `(memory, round) → (memory, verdict)`.

Signals add points to a score, news takes some off, a new minimum of a counter sets it to zero.
At `tell` the model is told, at `stop` (only after that, and only if it goes on) the run ends.
"""

from typing import Any

from headway.progress.advice import advice, evidence
from headway.progress.counter import Trend, follow
from headway.progress.facts import Level, Round, Verdict
from headway.progress.memory import Memory, Track
from headway.progress.readings import read_counter
from headway.progress.settings import Flat, ProgressSettings
from headway.progress.signals import Signal, View, view, weigh
from headway.progress.topic import sketch

_DEFAULT = ProgressSettings()


def detect(
    memory: dict[str, Any], round: Round, settings: ProgressSettings = _DEFAULT
) -> tuple[dict[str, Any], Verdict]:
    """Judge one round.

    `memory` is `{}` at the start and after a new human message or a resume; what comes back is
    plain JSON data of at most 1 kB for the next call. Nothing is changed in place.
    """
    if not settings.enabled:
        return {}, Verdict()
    now = Memory.load(memory)
    seen = view(now, round, settings)
    if round.calls and not seen.calls:
        return now.dump(), Verdict()
    signal = weigh(now, seen, settings)
    reading = read_counter(now, seen, settings)
    if reading is None or not (reading.declared or reading.known_change):
        now.score = max(0.0, now.score + signal.points)
    trend = follow(now, reading, settings) if reading else Trend()
    verdict = _judge(now, signal, trend, settings)
    _remember(now, seen)
    return now.dump(), verdict


def _judge(now: Memory, signal: Signal, trend: Trend, settings: ProgressSettings) -> Verdict:
    if trend.improved:
        now.score, now.told = 0.0, False
        return Verdict()
    if trend.flat is not None:
        return _judge_counter(now, signal, trend.flat, trend.patience)
    if signal.points <= 0:
        now.told = now.told and now.score >= settings.tell / 2
        return Verdict()
    if now.told:
        stop = now.score >= settings.stop
        return _verdict(now, "stop", signal) if stop else Verdict()
    if now.score < settings.tell:
        return Verdict()
    now.told = True
    found = _verdict(now, "tell", signal)
    now.score = min(now.score, max(settings.tell, settings.stop - settings.repeat))
    return found


def _judge_counter(now: Memory, signal: Signal, track: Track, patience: Flat) -> Verdict:
    flat = Signal("counter", signal.points, track.flat, signal.seen)
    if track.told or now.told:
        return _verdict(now, "stop", flat) if track.flat >= patience.stop else Verdict()
    if track.flat < patience.tell:
        return Verdict()
    track.told = True
    return _verdict(now, "tell", flat)


def _verdict(now: Memory, level: Level, signal: Signal) -> Verdict:
    found = evidence(signal, now.score, now.history)
    return Verdict(level, signal.rule, found, advice(found))


def _remember(now: Memory, seen: View) -> None:
    now.bare = 0 if seen.round.calls else now.bare + 1
    stormy = bool(seen.calls) and all(call.fact.problem for call in seen.calls)
    now.stormy = now.stormy + 1 if stormy else 0
    if seen.changed:
        now.next_epoch()
    for call in seen.calls:
        now.keep_pair(call.call, call.result)
        if call.error:
            now.keep_error(call.line)
            now.keep_error(call.error)
    if seen.calls:
        now.topic = sketch(seen.calls[-1].fact.args)
