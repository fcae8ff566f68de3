"""A result as content: its text, what of it is media, and how much of it one page holds.

Light: whoever only shortens results loads no tools.
"""

import json
from typing import Any, Final

READ_OUTPUT: Final = "read_output"

PAGE_CHARACTERS: Final = 8_000
"""Characters of a page, counted as they stand in the JSON result (a line end counts twice)."""

RESULT_CHARACTERS: Final = PAGE_CHARACTERS + 1_000
"""Bound of a whole result of this tool, page and positions."""

MEDIA: Final = frozenset(
    {"image", "image_url", "input_image", "audio", "input_audio", "video", "file", "document"}
)
"""Types of content blocks that hold encoded media."""


def blocks_text(blocks: list[Any]) -> str:
    """The text of content blocks, a line end between; unknown blocks as JSON, media left out."""
    return "\n".join(_block_text(block) for block in blocks if not is_media(block))


def is_media(block: object) -> bool:
    """An image, a recording or a file, in any of the usual forms of content blocks."""
    return isinstance(block, dict) and block.get("type") in MEDIA


def _block_text(block: object) -> str:
    if isinstance(block, str):
        return block
    if (
        isinstance(block, dict)
        and block.get("type") == "text"
        and isinstance(block.get("text"), str)
    ):
        return str(block["text"])
    return json.dumps(block, ensure_ascii=False)
