"""A structured answer is read where it is unambiguous, and sent back where it is not."""

import pytest
from pydantic import BaseModel, RootModel

from headway import run_agent
from headway.form import read_form
from policies import replies


class Point(BaseModel):
    x: int
    y: int = 0


class Points(RootModel[list[Point]]):
    pass


@pytest.mark.parametrize(
    ("answer", "found"),
    [
        ('{"x": 1}', Point(x=1)),
        ('```json\n{"x": 1}\n```', Point(x=1)),
        ('Here it is:\n```\n{"x": 1}\n```\nAs asked.', Point(x=1)),
        ('The point is {"x": 1, "y": 2}, as [said] above.', Point(x=1, y=2)),
        ('{"x": 1} or rather {"x": 1}', Point(x=1)),
        ('{"x": 1} or {"x": 2}', None),
        ('```json\n{"x": 1}\n```\n```json\n{"x": 2}\n```', None),
        ('{"z": 1}', None),
        ("no data", None),
        ("{" * 5000, None),
        ("[" * 100_000, None),
    ],
)
def test_the_form_is_read_where_it_is_unambiguous(answer: str, found: Point | None) -> None:
    read = read_form(answer, Point)
    assert read == found if found else isinstance(read, str)


def test_a_list_is_a_root_model() -> None:
    assert read_form('Both: [{"x": 1}, {"x": 2}]', Points) == Points([Point(x=1), Point(x=2)])
    wrong = read_form('[{"x": "one"}]', Points)
    assert isinstance(wrong, str)
    assert "0.x" in wrong


def test_a_wrong_form_is_sent_back_and_ends_as_invalid_answer() -> None:
    good = run_agent("x", model=replies("one", '{"x": 1}'), response_format=Point)
    assert (good.status, good.structured, good.verified) == ("completed", {"x": 1, "y": 0}, None)
    bad = run_agent("x", model=replies("one"), response_format=Point)
    assert (bad.status, bad.usage.model_calls, bad.verified) == ("invalid_answer", 3, None)
    assert bad.missing == "an answer in the asked form"
