"""What one round shows: each call's strongest signal, and the round's from its calls."""

from dataclasses import dataclass

from headway.progress.facts import CallFact, Round
from headway.progress.failures import Result, read_result
from headway.progress.memory import Memory
from headway.progress.settings import ProgressSettings
from headway.progress.text import canonical_call, digest, mask_noise, strip_echo, window
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


def look(fact: CallFact, settings: ProgressSettings) -> Seen:
    """Canonical call, masked result and error class of one call, as digests."""
    opened = read_result(fact)
    ends, middle = window(opened.text)
    masked = mask_noise(strip_echo(ends, fact.args), settings.masks).strip()
    return Seen(
        fact=fact,
        call=digest(canonical_call(fact.name, fact.args, exact=fact.kind == "write")),
        result=digest(" ".join(masked.split()) + middle),
        error=digest(opened.failure) if opened.failure else "",
        line=digest(" " + opened.line) if opened.failure else "",
        opened=opened,
    )


def changes(round_: Round) -> bool:
    """Whether the round changed the workspace; where nobody knows, a successful write did."""
    if round_.changed is not None:
        return round_.changed
    return any(call.kind == "write" and call.status == "success" for call in round_.calls)


def weigh(memory: Memory, round_: Round, calls: list[Seen], settings: ProgressSettings) -> Signal:
    """The signal of a whole round: one new, useful result outweighs its repeated neighbours."""
    if not round_.calls:
        points = settings.monologue if memory.bare else 0.0
        return Signal("monologue", points, memory.bare + 1)
    distinct = {(seen.call, seen.result): seen for seen in calls}
    signals = [_weigh_call(memory, seen, round_, settings) for seen in distinct.values()]
    weakest = min(signals, key=lambda signal: signal.points)
    extra = len(calls) - len(distinct)
    if extra and not all(seen.opened.waiting for seen in calls):
        points = max(weakest.points, 0.0) + extra * settings.duplicates
        most = max(calls, key=lambda seen: sum(seen.call == other.call for other in calls))
        return Signal("duplicates", points, extra + 1, most)
    return weakest


def _weigh_call(memory: Memory, seen: Seen, round_: Round, settings: ProgressSettings) -> Signal:
    if seen.fact.problem:
        earlier = settings.same_error if memory.error_count(seen.error) else 0.0
        points = settings.storm if memory.stormy else earlier
        return Signal("storm", points, memory.stormy + 1, seen)
    pair = memory.pair(seen.call, seen.result)
    if pair is not None:
        beside = len(round_.calls) > 1 and seen.fact.kind != "write" and changes(round_)
        changed = beside or pair.epoch != memory.epoch
        rule, points = _repeated(memory, seen, pair.count, changed, settings)
        return Signal(rule, points, pair.count + 1, seen)
    if seen.error:
        return _failed(memory, seen, settings)
    return _fresh(memory, seen, round_, settings)


def _repeated(
    memory: Memory, seen: Seen, count: int, changed: bool, settings: ProgressSettings
) -> tuple[str, float]:
    if seen.opened.transient:
        return "outage", settings.transient
    if seen.opened.waiting:
        return "poll", settings.sleep if seen.opened.sleeping else settings.poll
    if changed and not seen.error:
        return "repeat", settings.repeat_after_change
    rule = "repeat" if memory.pairs[-1].call == seen.call else "cycle"
    return rule, settings.repeat + settings.repeat_growth * min(count - 1, _GROWN)


def _failed(memory: Memory, seen: Seen, settings: ProgressSettings) -> Signal:
    """A failure in new words: the same class from other calls is evidence; the same call that
    now names something else has moved on."""
    times = memory.error_count(seen.error)
    again = memory.error_count(seen.line) > 0
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
    if seen.fact.kind == "write" and round_.changed is not False:
        return Signal("write", 0.0, seen=seen)
    if not memory.result_seen(seen.result):
        return Signal("news", -settings.news, seen=seen)
    if seen.opened.waiting:
        return Signal("poll", settings.poll, 2, seen)
    again = reworded(memory.topic, sketch(seen.fact.args))
    if seen.opened.nothing and not again:
        return Signal("same_result", settings.empty_elsewhere, 2, seen)
    telling = again and len(seen.opened.text.strip()) >= _TELLING
    points = settings.same_telling_result if telling else settings.same_result
    return Signal("same_result", points, 2, seen)
