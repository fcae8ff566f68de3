"""docs/json.md names every field of an outcome and every event, and none besides."""

import re
from pathlib import Path

from headway import events, stream_agent
from headway.outcome import Outcome
from policies import bash, replies

PAGE = (Path(__file__).parents[2] / "docs" / "json.md").read_text()
OUTCOME, EVENTS = PAGE.split("## The events")


def rows(text: str) -> list[tuple[str, str]]:
    return re.findall(r"^\| (`.+?) \| (.+) \|$", text, flags=re.MULTILINE)


def names(text: str) -> list[str]:
    return re.findall(r"`(\w+)`", text)


def documented() -> dict[str, set[str]]:
    return {
        names(kind)[0]: set(names(re.sub(r"\(.*?\)", "", fields.partition(";")[0])))
        for kind, fields in rows(EVENTS)
    }


def test_every_field_of_an_outcome_is_in_the_table() -> None:
    found = [name for first, _ in rows(OUTCOME) for name in names(first)]
    assert found == list(Outcome.model_fields)


def test_every_event_is_in_the_table_with_its_fields() -> None:
    source = Path(events.__file__).read_text()
    declared = re.findall(r"`(\w+)`\s\{([\w,\s]+)\}", source)
    assert documented() == {kind: set(re.findall(r"\w+", fields)) for kind, fields in declared}


def test_the_events_of_a_run_have_the_fields_of_the_table(workspace: Path) -> None:
    model = replies(bash("true"), "ok")
    seen = list(stream_agent("x", model=model, workspace=workspace))
    assert {event["type"] for event in seen} >= {"start", "call", "observation", "end"}
    for event in seen:
        assert set(event) - {"type"} == documented()[event["type"]]
