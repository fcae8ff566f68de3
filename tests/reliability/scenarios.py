"""The table: section → item → rows. To add a row, add it to one of the four files."""

from reliability.model_rows import MODEL_ROWS
from reliability.scenario import Row
from reliability.wire_rows import WIRE_ROWS

SECTIONS: dict[str, dict[str, list[Row]]] = {
    "What comes back from a model": MODEL_ROWS,
    "The wire": WIRE_ROWS,
}


def rows() -> list[tuple[str, Row]]:
    """All rows with their label."""
    return [
        (f"{item}: {row.name}", row)
        for items in SECTIONS.values()
        for item, found in items.items()
        for row in found
    ]
