"""The three forms of a run's output. stdout carries the result only, stderr the progress."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final, Protocol, TextIO

from headway_cli.events import Event, render
from headway_cli.report import report
from headway_cli.streams import put, tell
from headway_cli.terminal import terminal_of, visible

SCHEMA_VERSION: Final = 1
"""Of `--json` and `--jsonl`."""

Outcome = Mapping[str, Any]


@dataclass(frozen=True)
class Work:
    """What a run did to files, read when it has ended."""

    diff: Callable[[Outcome], str]
    """The unified diff of what an outcome's run changed."""
    bring: Callable[[Outcome], str]
    """The command that brings it into the workspace, empty where it is there already."""


class Output(Protocol):
    """Receives each event of a run in order, then its outcome once."""

    def event(self, event: Event) -> None: ...

    def end(self, outcome: Outcome) -> None: ...


class Progress:
    """Events as text on stderr; tokens as they come where somebody watches."""

    def __init__(self, err: TextIO) -> None:
        self._err = err
        self._mid_line = False
        self._started = False
        self.streamed = False
        """The newest text of the model was shown token by token."""

    def event(self, event: Event) -> None:
        """Print one event. A thought whose tokens were shown already is not shown again, nor is
        the start, which comes once more after a person's answer."""
        if event["type"] == "token":
            self._token(visible(str(event.get("text", ""))))
        elif event["type"] == "start" and self._started:
            return
        elif event["type"] == "thought" and self.streamed:
            self.streamed = False
        elif text := render(event, terminal_of(self._err)):
            self._started = True
            self.break_line()
            tell(text, stream=self._err)

    def break_line(self) -> None:
        """End a line that tokens left open."""
        if self._mid_line:
            tell(stream=self._err)
            self._mid_line = False

    def _token(self, text: str) -> None:
        if not self._err.isatty():
            return
        tell(text if self._mid_line else f"\n{text}", end="", stream=self._err)
        self._mid_line = self.streamed = True


class Human:
    """The answer, the facts and the next commands on stdout."""

    def __init__(self, work: Work, out: TextIO, err: TextIO) -> None:
        self._work = work
        self._out = out
        self._progress = Progress(err)
        self.event = self._progress.event

    def end(self, outcome: Outcome) -> None:
        self._progress.break_line()
        shown = self._progress.streamed and self._out.isatty()
        if shown:
            put(stream=self._out)
        diff, bring = self._work.diff(outcome), self._work.bring(outcome)
        seen = {**outcome, "answer": ""} if shown else outcome
        put(report(seen, terminal_of(self._out), diff, bring), stream=self._out)


class Json:
    """One object on stdout when all is over."""

    def __init__(self, out: TextIO, err: TextIO) -> None:
        self._out = out
        self._progress = Progress(err)
        self.event = self._progress.event

    def end(self, outcome: Outcome) -> None:
        self._progress.break_line()
        put(dumps({"schema_version": SCHEMA_VERSION, **outcome}), stream=self._out)


class JsonLines:
    """One event a line, the outcome last; the first line names the schema version."""

    def __init__(self, out: TextIO) -> None:
        self._out = out
        self._write({"type": "schema", "schema_version": SCHEMA_VERSION})

    def event(self, event: Event) -> None:
        self._write(event)

    def end(self, outcome: Outcome) -> None:
        self._write({"type": "end", "outcome": outcome})

    def _write(self, value: Mapping[str, Any]) -> None:
        put(dumps(value), stream=self._out)


def dumps(value: Mapping[str, Any], plain: Callable[[object], object] = str) -> str:
    """JSON on one line in ASCII, so no control or surrogate character gets through raw; `plain`
    makes text or data of what JSON has no form for."""
    return json.dumps(value, default=plain)
