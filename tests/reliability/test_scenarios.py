"""Every row of the table, by HTTP, through the whole graph, with real tools."""

from pathlib import Path

import pytest

from reliability.runner import Way, play, sampled
from reliability.scenario import Row
from reliability.scenarios import SECTIONS, rows


@pytest.mark.parametrize(
    ("row", "way"),
    [
        pytest.param(row, way, id=f"{label}-{way}", marks=[] if fast else [pytest.mark.slow])
        for label, row, way, fast in sampled(rows())
    ],
)
def test_the_run_ends_as_the_row_says(row: Row, way: Way, workspace: Path) -> None:
    play(row, way, workspace)


def test_each_item_has_three_kinds() -> None:
    thin = [item for items in SECTIONS.values() for item, found in items.items() if len(found) < 3]
    assert not thin
