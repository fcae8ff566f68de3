from pathlib import Path

import pytest

from headway_tools.errors import HeadwayError
from headway_tools.notes import read_note, write_note


def test_a_note_is_replaced_whole_and_private(tmp_path: Path) -> None:
    path = tmp_path / "note.json"
    assert read_note(path) is None
    write_note(path, "one")
    write_note(path, "two")
    assert read_note(path) == "two"
    assert path.stat().st_mode & 0o777 == 0o600
    assert [found.name for found in tmp_path.iterdir()] == ["note.json"]


def test_what_cannot_be_written_or_read_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(HeadwayError, match="cannot write"):
        write_note(tmp_path / "none" / "note.json", "x")
    (tmp_path / "raw").write_bytes(b"\xff")
    with pytest.raises(HeadwayError, match="remove it"):
        read_note(tmp_path / "raw")
