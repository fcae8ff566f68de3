"""The command as a process of its own, with streams that are closed, full or without a reader."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from cli_support import DONE, EDIT, Script

from headway_cli.streams import CANNOT_WRITE


def shell(words: str, streams: str, **environ: str) -> subprocess.CompletedProcess[str]:
    command = f"{sys.executable} -m headway_cli {words} {streams}"
    return subprocess.run(
        ["env", *(f"{name}={value}" for name, value in environ.items()), "bash", "-c", command],
        capture_output=True,
        text=True,
    )


@pytest.mark.parametrize("unbuffered", ["", "1"])
@pytest.mark.parametrize(
    ("streams", "code", "said"),
    [
        ("> /dev/full", CANNOT_WRITE, "headway: cannot write to stdout: No space left"),
        (">&-", 2, "headway: stdout is closed"),
        (">&- 2>&-", 2, ""),
        ("2>&-", 0, ""),
        ("<&-", 0, ""),
    ],
)
def test_a_stream_that_takes_nothing_is_one_line_and_a_code_of_its_own(
    streams: str, code: int, said: str, unbuffered: str
) -> None:
    done = shell("threads --json", streams, PYTHONUNBUFFERED=unbuffered)
    assert done.returncode == code
    assert done.stderr.count("\n") <= 2
    assert said in done.stderr


def test_progress_that_cannot_be_shown_ends_no_run(script: Script, workspace: Path) -> None:
    model = script([EDIT, DONE])
    done = shell(f"run x -C {workspace} --model {model} --json", "2> /dev/full")
    assert (done.returncode, json.loads(done.stdout)["answer"]) == (0, "Changed.")


def test_a_result_that_cannot_be_written_is_kept_in_its_thread(
    script: Script, workspace: Path
) -> None:
    place = f"-C {workspace} --thread t --model {script([EDIT, DONE])}"
    assert shell(f"run x {place}", "> /dev/full").returncode == CANNOT_WRITE
    assert (workspace / "a.txt").read_text() == "bye\nworld\n"
    assert "completed" in shell("threads", "").stdout


def test_what_an_encoding_lacks_is_an_escape(script: Script, workspace: Path) -> None:
    model = script([{"content": "déjà"}])
    done = shell(f"run x -C {workspace} --model {model}", "", PYTHONIOENCODING="ascii:strict")
    assert (done.returncode, "d\\xe9j\\xe0" in done.stdout) == (0, True)
