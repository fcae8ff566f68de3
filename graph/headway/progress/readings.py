"""Where a counter comes from: the round, a tool that declares it, or recognised output."""

from math import isfinite

from headway.progress.counter import Reading
from headway.progress.counts import Tally, tally
from headway.progress.memory import Memory
from headway.progress.settings import ProgressSettings
from headway.progress.signals import Seen, View
from headway.progress.text import WINDOW, digest


def read_counter(memory: Memory, seen: View, settings: ProgressSettings) -> Reading | None:
    """The reading of this round, or None where nothing was evaluated: no counter, or the same
    candidate measured again."""
    value = seen.round.counter
    if value is not None and isfinite(value):
        return Reading(
            Tally(0),
            value,
            declared=seen.round.counter_source == "declared",
            failure=seen.calls[-1].error if seen.calls else "",
            known_change=_changed_since(memory, seen, ""),
        )
    for call in reversed(seen.calls):
        found = _declared(memory, seen, call) or _inferred(memory, seen, call, settings)
        if found is not None:
            return found
    return None


def _declared(memory: Memory, seen: View, call: Seen) -> Reading | None:
    value = call.fact.counter
    pair = memory.pair(call.call, call.result)
    measured_again = pair is not None and pair.epoch == memory.epoch and not seen.changed
    if value is None or not isfinite(value) or measured_again:
        return None
    return Reading(Tally(0), value, digest(call.fact.name), declared=True, failure=call.error)


def _inferred(memory: Memory, seen: View, call: Seen, settings: ProgressSettings) -> Reading | None:
    text = call.opened.text
    if len(text) > 4 * WINDOW:
        text = text[:WINDOW] + "\n" + text[-3 * WINDOW :]
    found = tally(text, settings.counters)
    if found is None:
        return None
    key = digest(f"{call.fact.name} {found.tool}")
    track = memory.track(key)
    if track is None and found.failed == 0:
        return None
    if track is not None and (track.best == 0 or not _changed_since(memory, seen, key)):
        return None
    return Reading(found, found.failed, key, failure=call.error, known_change=True)


def _changed_since(memory: Memory, seen: View, key: str) -> bool:
    track = memory.track(key)
    return track is not None and (track.epoch != memory.epoch or seen.changed)
