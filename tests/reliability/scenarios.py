"""The table: section → item → rows. To add a row, add it to one of the `*_rows.py` files."""

from reliability.call_rows import CALL_ROWS
from reliability.end_rows import END_ROWS
from reliability.model_rows import MODEL_ROWS
from reliability.scenario import Row
from reliability.stream_rows import STREAM_ROWS
from reliability.tool_rows import TOOL_ROWS
from reliability.wire_rows import WIRE_ROWS

SECTIONS: dict[str, dict[str, list[Row]]] = {
    "What comes back from a model": {**CALL_ROWS, **STREAM_ROWS, **MODEL_ROWS},
    "The wire": WIRE_ROWS,
    "Tools": TOOL_ROWS,
    "Ends and limits": END_ROWS,
}


def rows() -> list[tuple[str, Row]]:
    """All rows with their label."""
    return [
        (f"{item}: {row.name}", row)
        for items in SECTIONS.values()
        for item, found in items.items()
        for row in found
    ]
