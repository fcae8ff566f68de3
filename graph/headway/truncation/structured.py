"""Results with structure stay parseable: lists lose entries, texts are cut inside their fields."""

import json
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final, NamedTuple

from headway.truncation.clean import terminal_text
from headway.truncation.limits import Room
from headway.truncation.notice import Source
from headway.truncation.text import fits, shorten_text
from headway_tools.results import observation
from headway_tools.values import clean_text, plain

PARSED: Final = 32_000_000
"""Characters up to which a result is parsed; beyond, its two ends become fields of a new object."""

SHORT: Final = 100_000
"""Characters of a text up to which it is measured exactly and cleaned before it is cut."""

WHITE: Final = 8
"""A result this many times too long cannot fit by losing its white space alone."""

FIELD: Final = 160
"""Characters that each text can keep, where there is room for a few such texts; entries are left
out before texts get shorter."""

_ENTRY: Final = 3
"""Characters that an entry of a list takes at least."""

_NOTICE: Final = 330
_ROUNDS: Final = 8
_NAMED: Final = 3

Path = tuple[str | int, ...]


class Leaf(NamedTuple):
    """A text inside a structure, and its length in JSON."""

    path: Path
    text: str
    cost: int


def parse(content: str) -> dict[str, Any] | list[Any] | None:
    """The JSON object or array that `content` is; None where it is neither or too large."""
    if len(content) > PARSED or not content.startswith(("{", "[")):
        return None
    try:
        value = json.loads(content)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict | list) else None


def shorten_value(
    content: str, value: dict[str, Any] | list[Any], room: Room, source: Source, *, terminal: bool
) -> str:
    """`content`, which is `value` as JSON, within `room`; an array becomes the field `items`."""
    if len(content) <= WHITE * room.characters:
        shown = _mapped(value, terminal_text) if terminal else value
        if shown == value and _fits(content, value, room):
            return clean_text(content)
        compact = clean_text(_dumped(shown))
        if _fits(compact, shown, room):
            return compact
    return _cut(value if isinstance(value, dict) else {"items": value}, room, source, terminal)


def _fits(content: str, value: Any, room: Room) -> bool:
    return len(content) <= room.characters and all(fits(leaf.text, room) for leaf in _leaves(value))


def shorten_ends(content: str, room: Room, source: Source) -> str:
    """Too large to parse: the two ends of the JSON text as fields of an object."""
    half = (room.characters - _NOTICE) // 3
    notice = f"the ends of {len(content)} characters of JSON; {source.how('offset=0')}"
    while True:
        ends = {"head": content[:half], "tail": content[len(content) - half :]}
        result = observation({**plain(ends), "truncated": True, "notice": notice})
        if len(result) <= room.characters:
            return result
        half //= 2


def _cut(value: dict[str, Any], room: Room, source: Source, terminal: bool) -> str:
    dropped: list[str] = []
    left = room.characters - _NOTICE
    fewer = _fewer(value, left, dropped)
    value = plain(fewer)
    if value != fewer:
        dropped.append("values that JSON cannot carry, or nested too deeply")
    if terminal:
        value = _mapped(value, lambda text: terminal_text(text) if len(text) <= SHORT else text)
    for _ in range(_ROUNDS):
        cut, names = _texts_within(value, Room(left, room.lines), source, terminal)
        result = observation(cut | _note(cut, [*dropped, *names], source))
        if len(result) <= room.characters:
            return result
        left -= len(result) - room.characters
    return shorten_ends(_dumped(value), room, source)


def _note(cut: dict[str, Any], parts: list[str], source: Source) -> dict[str, Any]:
    """The fields that say what is left out; a notice of the tool itself stays in front."""
    if not parts:
        return {}
    named = ", ".join(parts[:_NAMED]) + (f" and {len(parts) - _NAMED} more" * (len(parts) > _NAMED))
    notice = f"shortened: {named}; {source.how('offset=0')}"
    own = cut.get("notice")
    return {"truncated": True, "notice": f"{own} {notice}" if isinstance(own, str) else notice}


def _fewer(value: dict[str, Any], characters: int, dropped: list[str]) -> dict[str, Any]:
    """`value` with as many entries of its lists and objects as leave room for their texts."""
    most, field = max(characters // _ENTRY, 1), min(FIELD, characters // 4)
    while True:
        dropped.clear()
        fewer: dict[str, Any] = _entries(value, most, (), dropped)
        least = _mapped(fewer, lambda text: "x" * min(_cost(text[:field]), field))
        if most == 1 or len(_dumped(least)) <= characters:
            return fewer
        most = most * 3 // 4


def _entries(value: Any, most: int, path: Path, dropped: list[str]) -> Any:
    if not isinstance(value, dict | list):
        return value
    if len(value) > most and path:
        dropped.append(f"{most} of {len(value)} entries of {_name(path)} shown")
    elif len(value) > most:
        dropped.append(f"{most} of {len(value)} fields shown")
    if isinstance(value, list):
        return [_entries(item, most, (*path, i), dropped) for i, item in enumerate(value[:most])]
    kept = list(value.items())[:most]
    return {key: _entries(item, most, (*path, key), dropped) for key, item in kept}


def _texts_within(
    value: dict[str, Any], room: Room, source: Source, terminal: bool
) -> tuple[dict[str, Any], list[str]]:
    """`value` with its longest texts cut so that the whole has `room`, and the names of those."""
    leaves = list(_leaves(value))
    frame = len(_dumped(_mapped(value, lambda _: "")))
    share = _share([leaf.cost for leaf in leaves], room.characters - frame)
    texts: dict[Path, str] = {}
    for leaf in leaves:
        if leaf.cost <= share and fits(leaf.text, Room(leaf.cost, room.lines)):
            continue
        characters = max(int(min(share, leaf.cost) * len(leaf.text) / leaf.cost), 0)
        texts[leaf.path] = shorten_text(
            leaf.text, Room(characters, room.lines), _within(source, leaf.path), terminal=terminal
        )
    return _replaced(value, texts, ()), [_name(path) for path in texts]


def _share(costs: list[int], room: int) -> float:
    """The largest length which all texts may have so that together they have `room`."""
    left = float(max(room, 0))
    for i, cost in enumerate(sorted(costs)):
        even = left / (len(costs) - i)
        if cost > even:
            return even
        left -= cost
    return float("inf")


def _within(source: Source, path: Path) -> Source:
    """The source of one field, as far as `read_output` can name it."""
    name = _name(path)
    plainly = name == ".".join(p for p in path if isinstance(p, str) and "." not in p)
    return source._replace(field=name if plainly else None, readable=source.readable and plainly)


def _name(path: Path) -> str:
    name = terminal_text(".".join(map(str, path)))
    return name if len(name) <= 60 else name[:57] + "…"


def _leaves(value: Any, path: Path = ()) -> Iterator[Leaf]:
    if isinstance(value, str):
        yield Leaf(path, value, _cost(value))
    elif isinstance(value, dict):
        for key, item in value.items():
            yield from _leaves(item, (*path, key))
    elif isinstance(value, list):
        for i, item in enumerate(value):
            yield from _leaves(item, (*path, i))


def _cost(text: str) -> int:
    """Characters of `text` inside JSON; of a long one estimated from its beginning."""
    if len(text) <= SHORT:
        return len(_dumped(text)) - 2
    return (len(_dumped(text[:SHORT])) - 2) * len(text) // SHORT


def _replaced(value: Any, texts: Mapping[Path, str], path: Path) -> Any:
    if isinstance(value, dict):
        return {key: _replaced(item, texts, (*path, key)) for key, item in value.items()}
    if isinstance(value, list):
        return [_replaced(item, texts, (*path, i)) for i, item in enumerate(value)]
    return texts.get(path, value)


def _mapped(value: Any, change: Callable[[str], str]) -> Any:
    if isinstance(value, str):
        return change(value)
    if isinstance(value, dict):
        return {key: _mapped(item, change) for key, item in value.items()}
    if isinstance(value, list):
        return [_mapped(item, change) for item in value]
    return value


def _dumped(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(", ", ": "))
