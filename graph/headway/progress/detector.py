"""The detector: a pure function `(memory, round) → (memory, verdict)`.

Signals add points to a score, news takes some off, a new minimum of a counter sets it to zero.
At `tell` the model is told, at `stop` (only after that, and only if it goes on) the run ends.
"""

from typing import Any

from headway.progress.advice import advice, evidence
from headway.progress.counter import Reading, Trend, follow
from headway.progress.counts import Tally, tally
from headway.progress.facts import Round, Verdict
from headway.progress.memory import Memory
from headway.progress.settings import ProgressSettings
from headway.progress.signals import Seen, Signal, changes, look, weigh
from headway.progress.text import WINDOW, digest
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
    acts = [call for call in round.calls if not call.neutral]
    if round.calls and not acts:
        return now.dump(), Verdict()
    calls = [look(call, settings) for call in acts]
    signal = weigh(now, round, calls, settings)
    reading = _reading(now, round, calls, settings)
    if reading is None or not (reading.declared or reading.known_change):
        now.score = max(0.0, now.score + signal.points)
    trend = follow(now, reading, settings) if reading else Trend()
    verdict = _judge(now, signal, trend, settings)
    _remember(now, round, calls)
    return now.dump(), verdict


def _judge(now: Memory, signal: Signal, trend: Trend, settings: ProgressSettings) -> Verdict:
    if trend.improved:
        now.score, now.told = 0.0, False
        return Verdict()
    if trend.patience is not None:
        return _judge_counter(now, signal, trend, settings)
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


def _judge_counter(
    now: Memory, signal: Signal, trend: Trend, settings: ProgressSettings
) -> Verdict:
    assert trend.patience is not None
    flat = Signal("counter", signal.points, trend.flat, signal.seen)
    if trend.flat >= trend.patience.stop and now.told:
        return _verdict(now, "stop", flat)
    if trend.flat >= trend.patience.tell and not now.told:
        now.told, now.score = True, max(now.score, settings.tell)
        return _verdict(now, "tell", flat)
    return Verdict()


def _verdict(now: Memory, level: Any, signal: Signal) -> Verdict:
    found = evidence(signal, now.score, now.history)
    return Verdict(level, signal.rule, found, advice(found))


def _reading(
    now: Memory, round_: Round, calls: list[Seen], settings: ProgressSettings
) -> Reading | None:
    """The round's counter: its own, else one that a tool declares, else one found in output."""
    if round_.counter is not None:
        return Reading(
            Tally(0),
            round_.counter,
            declared=round_.counter_source == "declared",
            failure=calls[-1].error if calls else "",
            known_change=_changed_since(now, round_, ""),
        )
    readings = (
        _declared(now, round_, seen) or _inferred(now, round_, seen, settings)
        for seen in reversed(calls)
    )
    return next((reading for reading in readings if reading is not None), None)


def _declared(now: Memory, round_: Round, seen: Seen) -> Reading | None:
    pair = now.pair(seen.call, seen.result)
    plain_repeat = pair is not None and pair.epoch == now.epoch and not changes(round_)
    if seen.fact.counter is None or plain_repeat:
        return None
    return Reading(Tally(0), seen.fact.counter, digest(seen.fact.name), declared=True)


def _inferred(now: Memory, round_: Round, seen: Seen, settings: ProgressSettings) -> Reading | None:
    text = seen.opened.text
    if len(text) > 4 * WINDOW:
        text = text[:WINDOW] + "\n" + text[-3 * WINDOW :]
    found = tally(text, settings.counters)
    if found is None:
        return None
    key = digest(f"{seen.fact.name} {found.tool}")
    track = now.track(key)
    if found.failed == 0 and (track is None or track.best == 0):
        return None
    if track is not None and not _changed_since(now, round_, key):
        return None
    return Reading(found, found.failed, key, failure=seen.error, known_change=True)


def _changed_since(now: Memory, round_: Round, key: str) -> bool:
    track = now.track(key)
    return track is not None and (track.epoch != now.epoch or changes(round_))


def _remember(now: Memory, round_: Round, calls: list[Seen]) -> None:
    now.bare = now.bare + 1 if not round_.calls else 0
    stormy = bool(calls) and all(seen.fact.problem for seen in calls)
    now.stormy = now.stormy + 1 if stormy else 0
    if changes(round_):
        now.next_epoch()
    for seen in calls:
        now.keep_pair(seen.call, seen.result)
        if seen.error:
            now.keep_error(seen.line)
            now.keep_error(seen.error)
    if calls:
        now.topic = sketch(calls[-1].fact.args)
