"""The table of scenarios as a page of the documentation."""

from collections.abc import Iterator, Sequence

from reliability.scenario import Row, Then
from reliability.scenarios import SECTIONS

HEAD = """\
# What can go wrong, and how a run ends then

Generated from the table in `tests/reliability/` by `python docs/generate.py`; each row is a test
against a scripted server over HTTP, with the real graph and real tools: synchronous and
asynchronous, streamed and not, saved in memory and in SQLite. The server refuses every request that
the strictest of all servers would refuse.

*Runs*: what the row's calls really did. *Told*: what the model is answered to each call, `ok` or
the code of the error.
"""


def page() -> str:
    """The whole page."""
    return "\n".join([HEAD, *(line for section in SECTIONS for line in _section(section))])


def _section(title: str) -> Iterator[str]:
    yield f"## {title}\n"
    for item, rows in SECTIONS[title].items():
        yield f"### {item[0].upper()}{item[1:]}\n"
        yield "| Case | Ends with | Runs | Told |"
        yield "| --- | --- | --- | --- |"
        yield from map(_row, rows)
        yield ""


def _row(row: Row) -> str:
    cells = [row.name, _ending(row), _some(row.ran), _some(row.told)]
    return f"| {' | '.join(_cell(cell) for cell in cells)} |"


def _ending(row: Row) -> str:
    if row.raises is not None:
        return f"`{row.raises.__name__}`{_then(row.then)}"
    kind = row.limit or (row.evidence if row.status == "model_error" else None)
    return f"{row.status}{f' ({kind})' if kind else ''}{_then(row.then)}"


def _then(then: Then | None) -> str:
    if then is None:
        return ""
    return f"; {'with a message' if then.message else 'resumed'}: {then.status}"


def _some(words: Sequence[str] | None) -> str:
    """Equal neighbours counted."""
    groups: list[tuple[str, int]] = []
    for word in words or ():
        if groups and groups[-1][0] == word:
            groups[-1] = (word, groups[-1][1] + 1)
        else:
            groups.append((word, 1))
    shown = [word if count == 1 else f"{count} × {word}" for word, count in groups]
    return ", ".join(shown if len(shown) <= 8 else [*shown[:7], "…"])


def _cell(text: str) -> str:
    shown = "".join(char if char.isprintable() else repr(char)[1:-1] for char in text)
    return shown.replace("|", "\\|")
