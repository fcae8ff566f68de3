"""What one round shows: each call's strongest signal, and the round's from its calls."""

from collections import Counter
from dataclasses import dataclass

from headway.progress.facts import CallFact, Round
from headway.progress.failures import Result, read_result
from headway.progress.memory import Memory
from headway.progress.settings import ProgressSettings
from headway.progress.text import canonical_call, digest, fingerprint
from headway.progress.topic import reworded, sketch

_GROWN = 4
_TELLING = 20
"""Characters from which on a result hardly comes twice by accident."""


@dataclass(frozen=True)
class Seen:
    """A call as the memory knows it."""

    fact: CallFact
    call: str
    result: str
    error: str
    """Digest of the error class; empty where nothing failed."""
    line: str
    """Digest of the error as it names things."""
    opened: Result


@dataclass(frozen=True)
class Signal:
    """Points of a round: above zero it looks stuck, below it brought news."""

    rule: str
    points: float
    times: int = 1
    seen: Seen | None = None


@dataclass(frozen=True)
class View:
    """A round as the detector compares it: its calls without the neutral ones."""

    round: Round
    calls: tuple[Seen, ...]
    changed: bool
    """Whether the workspace changed by something new: an edit made once more renews nothing.
    Where nobody knows, a write with a new result did."""


def view(memory: Memory, round_: Round, settings: ProgressSettings) -> View:
    """`round_` against what `memory` holds; nothing is entered yet."""
    calls = tuple(_look(fact, round_, settings) for fact in round_.calls if not fact.neutral)
    new = [seen for seen in calls if not memory.pair(seen.call, seen.result)]
    changed = bool(round_.changed and new)
    if round_.changed is None:
        changed = any(seen.fact.kind == "write" and not seen.error for seen in new)
    return View(round_, calls, changed)


def _look(fact: CallFact, round_: Round, settings: ProgressSettings) -> Seen:
    opened = read_result(fact)
    wrote = fact.kind == "write" and round_.changed is True
    return Seen(
        fact=fact,
        call=digest(canonical_call(fact.name, fact.args, exact=wrote)),
        result=fingerprint(opened.text, fact.args, settings.masks),
        error=digest(opened.failure) if opened.failure else "",
        line=digest(" " + opened.line) if opened.failure else "",
        opened=opened,
    )


def weigh(memory: Memory, seen: View, settings: ProgressSettings) -> Signal:
    """The signal of a whole round: one new, useful result outweighs its repeated neighbours."""
    if not seen.round.calls:
        points = settings.monologue if memory.bare else 0.0
        return Signal("monologue", points, memory.bare + 1)
    distinct = {(call.call, call.result): call for call in seen.calls}
    signals = [_weigh_call(memory, call, seen, settings) for call in distinct.values()]
    weakest = min(signals, key=lambda signal: signal.points)
    extra = len(seen.calls) - len(distinct)
    if extra and not all(call.opened.waiting for call in seen.calls):
        points = max(weakest.points, 0.0) + extra * settings.duplicates
        most, times = Counter((call.call, call.result) for call in seen.calls).most_common(1)[0]
        return Signal("duplicates", points, times, distinct[most])
    return weakest


def _weigh_call(memory: Memory, call: Seen, seen: View, settings: ProgressSettings) -> Signal:
    if call.fact.problem:
        earlier = settings.same_error if memory.error_count(call.error) else 0.0
        points = settings.storm if memory.stormy else earlier
        return Signal("storm", points, memory.stormy + 1, call)
    pair = memory.pair(call.call, call.result)
    if pair is not None:
        beside = seen.changed and len(seen.calls) > 1 and call.fact.kind != "write"
        changed = beside or pair.epoch != memory.epoch
        rule, points = _repeated(memory, call, pair.times, changed, settings)
        return Signal(rule, points, pair.times + 1, call)
    if call.error:
        return _failed(memory, call, settings)
    return _fresh(memory, call, seen.round, settings)


def _repeated(
    memory: Memory, seen: Seen, count: int, changed: bool, settings: ProgressSettings
) -> tuple[str, float]:
    if seen.opened.transient:
        return "outage", settings.transient
    if seen.opened.waiting:
        return "poll", settings.sleep if seen.opened.sleeping else settings.poll
    if changed and not (seen.error or seen.opened.silent):
        return "repeat", settings.repeat_after_change
    rule = "repeat" if memory.last_call() == seen.call else "cycle"
    return rule, settings.repeat + settings.repeat_growth * min(count - 1, _GROWN)


def _failed(memory: Memory, seen: Seen, settings: ProgressSettings) -> Signal:
    """A failure in new words: the same class from other calls is evidence; the same call that
    now names something else has moved on."""
    again = memory.error_count(seen.line)
    times = max(again, memory.error_count(seen.error))
    if not times:
        points = 0.0
    elif seen.opened.transient:
        points = settings.transient
    elif memory.call_seen(seen.call):
        points = settings.same_call_same_error if again else 0.0
    else:
        points = settings.same_error
    return Signal("same_error", points, times + 1, seen)


def _fresh(memory: Memory, seen: Seen, round_: Round, settings: ProgressSettings) -> Signal:
    writes = seen.fact.kind == "write"
    if writes and round_.changed:
        return Signal("write", 0.0, seen=seen)
    if not memory.result_seen(seen.result):
        return Signal("news", -settings.news, seen=seen)
    found_nothing = seen.opened.nothing and seen.opened.text.strip()
    if writes and round_.changed is None and not found_nothing:
        return Signal("write", 0.0, seen=seen)
    if seen.opened.waiting:
        return Signal("poll", settings.poll, 2, seen)
    again = reworded(memory.topic, sketch(seen.fact.args))
    if seen.opened.nothing and not again:
        return Signal("same_result", settings.empty_elsewhere, 2, seen)
    telling = again and len(seen.opened.text.strip()) >= _TELLING
    points = settings.same_telling_result if telling else settings.same_result
    return Signal("same_result", points, 2, seen)
