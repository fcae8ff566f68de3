"""Replacing a file: all or nothing, against other writers and against kill -9."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from headway_tools.beneath import Place, resolve
from headway_tools.replace import (
    ChangedError,
    create_file,
    is_temporary,
    replace_file,
    sweep,
    write_in_place,
)


@contextmanager
def place_of(file: Path) -> Iterator[Place]:
    root = os.open(file.parent, os.O_PATH | os.O_DIRECTORY)
    try:
        with resolve(root, file.name) as place:
            yield place
    finally:
        os.close(root)


def rewritten_in_place(file: Path, data: bytes) -> None:
    file.write_bytes(data)


def rewritten_by_rename(file: Path, data: bytes) -> None:
    other = file.with_suffix(".other")
    other.write_bytes(data)
    other.rename(file)


@pytest.mark.parametrize("foreign", [rewritten_in_place, rewritten_by_rename])
@pytest.mark.parametrize("replace", [replace_file, write_in_place])
def test_a_file_written_since_it_was_read_keeps_the_foreign_content(
    tmp_path: Path, foreign: object, replace: object
) -> None:
    assert callable(foreign)
    assert callable(replace)
    file = tmp_path / "f"
    file.write_bytes(b"read")
    with place_of(file) as place, file.open("rb") as old:
        foreign(file, b"foreign")
        with pytest.raises(ChangedError):
            replace(place, old.fileno(), b"read", b"ours")
    assert file.read_bytes() == b"foreign"
    assert [path.name for path in tmp_path.iterdir()] == ["f"]


def test_a_file_that_appeared_is_not_overwritten_by_a_new_one(tmp_path: Path) -> None:
    file = tmp_path / "f"
    with place_of(file) as place:
        file.write_bytes(b"foreign")
        with pytest.raises(FileExistsError):
            create_file(place, b"ours")
    assert file.read_bytes() == b"foreign"
    assert [path.name for path in tmp_path.iterdir()] == ["f"]


def test_a_new_file_obeys_the_umask(tmp_path: Path) -> None:
    before = os.umask(0o027)
    try:
        with place_of(tmp_path / "f") as place:
            create_file(place, b"x")
    finally:
        os.umask(before)
    assert (tmp_path / "f").stat().st_mode & 0o777 == 0o640


@pytest.mark.parametrize("step", [7, pytest.param(1, marks=pytest.mark.slow)])
def test_killed_at_any_line_a_file_is_old_or_new_and_leftovers_are_swept(
    tmp_path: Path, step: int
) -> None:
    program = Path(__file__).with_name("kill_each_line.py")
    run = subprocess.run(
        [sys.executable, str(program), str(tmp_path), str(step)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 0, run.stderr
    report = json.loads(run.stdout)
    assert report["exit"] == 0
    assert report["kills"] > 100 / step
    assert report["leftovers"] > 0, "no kill came between making and removing the temporary file"
    assert (report["torn"], report["lost_attributes"]) == (0, 0)
    assert (report["names"], report["final"]) == (["f"], "one\n2\n")


def test_sweep_takes_only_what_an_edit_left(tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    leftovers = [tmp_path / ".headway-0123456789abcdef", tmp_path / "sub/.headway-fedcba9876543210"]
    (tmp_path / "share/own").mkdir(parents=True)
    others = [
        tmp_path / ".headway-notes",
        tmp_path / "sub/.headway-0123456789abcdef.txt",
        tmp_path / "share/own/.headway-0123456789abcdef",
    ]
    for file in leftovers + others:
        file.write_bytes(b"")
    (tmp_path / "outside").symlink_to("/")
    assert sweep(tmp_path, leave=("share/own",)) == 2
    assert [file.exists() for file in leftovers + others] == [False] * 2 + [True] * 3
    assert is_temporary(leftovers[0].name)
