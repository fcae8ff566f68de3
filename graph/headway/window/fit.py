"""Deciding what to shorten, and applying it: both pure, so any process rebuilds the request."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

from langchain_core.messages import AIMessage, BaseMessage, SystemMessage, ToolMessage
from typing_extensions import TypedDict

from headway.notes import FIELD, is_human, meta
from headway.window.brief import FAILURE_CHARACTERS, brief_message
from headway.window.digest import digest, edited_files, last_failure
from headway.window.tokens import weight

TRIGGER: Final = 0.85
"""Share of the room at which the request is shortened; estimates are not exact."""

TARGET: Final = 0.6
"""Share that is left after a step, so that the next one is far away."""

DIGEST_SHARE: Final = 0.12
"""Of the room, for what stands in place of the steps left out."""

MOST_FILES: Final = 30
"""Files remembered in state, which every checkpoint holds."""

_SPARING: Final = 300
"""The last failure is cut like the rest where texts get shorter than this."""

KEPT_CAPS: Final = (8_000, 3_000, 1_000, 300, 80)
"""Characters for each text of the newest steps, tried in order when they alone are too long."""


class Cap(TypedDict):
    """Up to the message named `through`, texts have at most `characters`."""

    through: str
    characters: int


class Shortened(TypedDict, total=False):
    """What requests shorten; plain data for state. Empty: nothing."""

    step: int
    """How many times the request was shortened anew."""
    caps: list[Cap]
    """Oldest first; a message obeys the first that reaches it."""
    dropped: str | None
    """Up to the message of this id, steps are replaced by what they did."""
    room: int
    """Characters for that."""
    changed: list[str]
    """Files that the caller knew to have changed."""
    ceiling: int
    """Estimated tokens which a server refused as too many, less a margin."""
    window: int
    """The window for which that holds."""


class Fitted(NamedTuple):
    """A request, and what the next one needs to be made from it."""

    messages: list[BaseMessage]
    shortened: dict[str, Any]
    """Plain data for state."""
    weight: float
    """Estimated tokens before the factor, of the messages alone."""
    source: Sequence[BaseMessage]
    """The conversation."""

    def tokens(self, factor: float) -> int:
        return int(self.weight * factor)


def fit(
    messages: Sequence[BaseMessage],
    *,
    window: int,
    reserve: int,
    factor: float,
    shortened_before: Mapping[str, Any],
    overhead: int = 0,
    earlier: Fitted | None = None,
    shrink: bool = False,
    changed: Sequence[str] = (),
) -> Fitted:
    """The request for `messages` (a valid conversation) within the window.

    `window`, `reserve` and `overhead` (of the tools) are tokens. Human and system messages stay
    verbatim; calls keep their answers. `shrink` shortens anew and further, after a server refused
    the request as too long. `changed` are files known to have changed; the rest is read from the
    calls. `earlier` saves work and changes nothing. If nothing more can be shortened, the request
    may still be too long.
    """
    before: Shortened = {**shortened_before}  # type: ignore[typeddict-item]
    room = max(window - reserve - min(overhead, window // 2), 1)
    request = _continued(messages, before, earlier)
    tokens = request.tokens(factor)
    ceiling = before.get("ceiling", room) if before.get("window") == window else room
    if tokens <= min(TRIGGER * room, ceiling) and not shrink:
        return request
    target = TARGET * min(room, ceiling)
    if shrink:
        ceiling = min(ceiling, int(tokens * TRIGGER))
        target = min(target, tokens * TARGET)
    base: Shortened = {
        "step": before.get("step", 0) + 1,
        "room": int(DIGEST_SHARE * min(room, ceiling) * 4),
        "changed": list(changed)[-MOST_FILES:],
    }
    if ceiling < room:
        base |= {"ceiling": ceiling, "window": window}
    best = _first_fitting(messages, base, factor, target, TRIGGER * min(room, ceiling))
    return request if best.messages == request.messages and not shrink else best


def _continued(
    messages: Sequence[BaseMessage], shortened: Shortened, earlier: Fitted | None
) -> Fitted:
    """`messages` with `shortened` done to them, in one go or by what `earlier` has not seen."""
    if earlier is None or earlier.shortened != shortened:
        return _done(messages, shortened)
    count = len(earlier.source)
    if messages[:count] != earlier.source:  # by identity, then by value
        return _done(messages, shortened)
    new = messages[count:]
    return earlier._replace(
        messages=[*earlier.messages, *new], weight=earlier.weight + weight(new), source=messages
    )


def _done(messages: Sequence[BaseMessage], shortened: Shortened) -> Fitted:
    request = applied(messages, shortened)
    return Fitted(request, dict(shortened), weight(request), messages)


def _first_fitting(
    messages: Sequence[BaseMessage], base: Shortened, factor: float, target: float, most: float
) -> Fitted:
    """The mildest way that reaches `target`, else the mildest within `most`, else the shortest."""
    tried: list[Fitted] = []
    for way in _ways(messages, base):
        tried.append(_done(messages, way))
        if tried[-1].tokens(factor) <= target:
            return tried[-1]
    within = [one for one in tried if one.tokens(factor) <= most]
    return within[0] if within else min(tried, key=lambda one: one.weight)


def _ways(messages: Sequence[BaseMessage], base: Shortened) -> Iterator[Shortened]:
    """From mild to hard: shorter observations, steps left out, shorter newest steps."""
    ends = [_name(messages[end - 1]) for _, end in _steps(messages)]
    last = _name(messages[-1]) if messages else None

    def before_newest(rounds: int) -> str | None:
        return ends[-rounds - 1] if len(ends) > rounds else None

    for rounds, cap in ((6, 1_500), (3, 1_500), (3, 400)):
        if older := before_newest(rounds):
            yield {**base, "caps": [Cap(through=older, characters=cap)]}
    for rounds in (3, 1):
        if older := before_newest(rounds):
            yield {**base, "caps": [Cap(through=older, characters=400)], "dropped": older}
    older = before_newest(1)
    for cap in KEPT_CAPS:
        reach = [(older, min(cap, 400)), (last, cap)]
        caps = [Cap(through=name, characters=most) for name, most in reach if name]
        yield {**base, "caps": caps, "dropped": older}


def applied(messages: Sequence[BaseMessage], shortened: Shortened) -> list[BaseMessage]:
    """`messages` with `shortened` done to them; names that are gone from history do nothing."""
    if not shortened.get("caps"):
        return list(messages)
    places = {_name(message): place for place, message in enumerate(messages)}
    caps = [
        (places[cap["through"]], cap["characters"])
        for cap in shortened["caps"]
        if cap["through"] in places
    ]
    dropped = places.get(shortened.get("dropped") or "", -1)
    if not caps:
        return list(messages)
    spared = last_failure(messages[: caps[0][0] + 1])

    def kept(first: int, end: int) -> list[BaseMessage]:
        return [_capped(messages[p], p, caps, spared=p == spared) for p in range(first, end)]

    result: list[BaseMessage] = []
    end = 0
    for stretch, text in _digests(messages, dropped, shortened):
        (first, _), (last, _) = stretch[0], stretch[-1]
        result += [*kept(end, first), *kept(last, last + 1)]
        result.append(_told(messages[last + 1], text, steps=len(stretch) - 1))
        end = last + 2
    return [*result, *kept(end, len(messages))]


def _told(answer: BaseMessage, text: str, *, steps: int) -> BaseMessage:
    """`answer` as the place that tells of the steps left out before it."""
    notes = {**answer.response_metadata, FIELD: {**meta(answer), "left_out": steps}}
    return answer.model_copy(update={"content": text, "response_metadata": notes})


def _capped(
    message: BaseMessage, place: int, caps: Sequence[tuple[int, int]], *, spared: bool
) -> BaseMessage:
    cap = next((cap for last, cap in caps if place <= last), None)
    if cap is None or isinstance(message, SystemMessage) or is_human(message):
        return message
    if spared and cap >= _SPARING:
        cap = max(cap, FAILURE_CHARACTERS)
    return brief_message(message, cap)


def _digests(
    messages: Sequence[BaseMessage], dropped: int, shortened: Shortened
) -> Iterator[tuple[list[tuple[int, int]], str]]:
    """The stretches of steps up to `dropped`, each with the text that stands in place of its last
    observation while the steps before it are left out.

    There it has no more weight than what it came from, and the roles go on taking turns.
    """
    stretches = _stretches(messages, dropped)
    for stretch in stretches:
        first, end = stretch[0][0], stretch[-1][1]
        newest = stretch is stretches[-1]
        files = edited_files(messages[0 if newest else first : end])
        files += shortened.get("changed", []) if newest else []
        room = shortened.get("room", 0) // len(stretches)
        yield stretch, digest(messages[first:end], files, room)


def _stretches(messages: Sequence[BaseMessage], dropped: int) -> list[list[tuple[int, int]]]:
    """Two or more steps in a row, each as its first place and the one behind it."""
    found: list[list[tuple[int, int]]] = []
    for step in _steps(messages):
        if step[1] > dropped + 1:
            break
        if found and found[-1][-1][1] == step[0]:
            found[-1].append(step)
        else:
            found.append([step])
    return [stretch for stretch in found if len(stretch) > 1]


def _steps(messages: Sequence[BaseMessage]) -> Iterator[tuple[int, int]]:
    """A reply with calls and the answers behind it."""
    place = 0
    while place < len(messages):
        message, first = messages[place], place
        place += 1
        if isinstance(message, AIMessage) and message.tool_calls:
            while place < len(messages) and isinstance(messages[place], ToolMessage):
                place += 1
            if place > first + 1:
                yield first, place


def _name(message: BaseMessage) -> str | None:
    """By which state remembers a message; answers made up for a request have no id of their own."""
    if message.id is None and isinstance(message, ToolMessage):
        return f"answer to {message.tool_call_id}"
    return message.id
