"""read_file on a real disk: numbers as grep counts, and a clear answer for everything else."""

import json
import os
import socket
import subprocess
import tempfile
import tracemalloc
from pathlib import Path

import pytest
from files_support import read_result, unprivileged, workspace_at
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from headway_tools.env import ToolEnv, use_env
from headway_tools.files import WHOLE_LIMIT
from headway_tools.journal import MemoryJournal
from headway_tools.kinds import declaration_of
from headway_tools.pages import MOST_CHARACTERS, paginate
from headway_tools.read_file import SCAN_LIMIT, ReadFileArgs, read_file_tool
from headway_tools.results import observation
from headway_tools.workspace import Workspace


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    return workspace_at(tmp_path)


@settings(max_examples=40, deadline=None)
@given(st.text("ab \r\x0b\x0c\x1c\x85\u2028é\n\n\n", max_size=60))
def test_lines_are_numbered_as_grep_counts(text: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "f")
        file.write_bytes(text.encode())
        grep = subprocess.run(
            ["grep", "-n", "", str(file)],
            capture_output=True,
            env={"LC_ALL": "C.UTF-8"},
            check=False,
        )
        result = read_result(workspace_at(Path(folder)), "f")
    expected = grep.stdout.decode().split("\n")[:-1]
    shown = str(result["text"]).split("\n") if result["text"] else []
    assert [line.partition("\t")[0] for line in shown] == [
        line.partition(":")[0] for line in expected
    ]
    assert [line.partition("\t")[2] for line in shown] == [
        line.partition(":")[2].removesuffix("\r") for line in expected
    ]


@given(
    st.lists(st.text("ab\n\n", max_size=9), max_size=9),
    st.integers(1, 12),
    st.integers(1, 12),
)
def test_a_page_is_the_same_however_the_text_comes(
    chunks: list[str], start: int, limit: int
) -> None:
    lines = "".join(chunks).split("\n")
    lines = lines if lines[-1] else lines[:-1]
    page = paginate(chunks, start, limit)
    numbered = [f"{number}\t{line}" for number, line in enumerate(lines, 1)]
    assert list(page.lines) == numbered[start - 1 : start - 1 + limit]
    assert page.total == len(lines)


def test_a_page_says_where_to_go_on(workspace: Workspace) -> None:
    make(workspace, "f", "".join(f"{n}\n" for n in range(1, 1001)).encode())
    first = read_result(workspace, "f")
    assert (first["start"], first["end"], first["lines"], first["next_start"]) == (
        1,
        250,
        1000,
        251,
    )
    assert read_result(workspace, "f", 1, 2000) == first
    last = read_result(workspace, "f", 991, 10)
    assert (last["start"], last["end"]) == (991, 1000)
    assert "next_start" not in last


@pytest.mark.parametrize(
    ("start", "limit", "expected"),
    [
        (0, 1, "1\ta"),
        (1, 1, "1\ta"),
        (-1, 9, "3\tc"),
        (-2, 1, "2\tb"),
        (-99, 9, "1\ta\n2\tb\n3\tc"),
    ],
)
def test_odd_starts_are_defined(
    workspace: Workspace, start: int, limit: int, expected: str
) -> None:
    make(workspace, "f", b"a\nb\nc")
    assert read_result(workspace, "f", start, limit)["text"] == expected


def test_past_the_end_is_no_empty_file(workspace: Workspace) -> None:
    make(workspace, "f", b"a\nb\nc\nd\ne\n")
    result = read_result(workspace, "f", 100)
    assert (result["error"], result["lines"]) == ("past_end", 5)
    assert result["message"] == "f has 5 lines, line 100 is past its end"


@pytest.mark.parametrize("data", [b"", b"\xef\xbb\xbf"])
def test_an_empty_file_says_so(workspace: Workspace, data: bytes) -> None:
    make(workspace, "f", data)
    result = read_result(workspace, "f", 7)
    assert (result["ok"], result["lines"], result["note"]) == (True, 0, "the file is empty")


def test_a_page_stays_within_what_a_model_is_shown(workspace: Workspace) -> None:
    make(workspace, "f", ('"quoted\t\\" ' * 15 + "\n").encode() * 500)
    result = read_result(workspace, "f")
    assert MOST_CHARACTERS * 0.8 < len(observation(result)) < 12_000
    follow = read_result(workspace, "f", int(str(result["next_start"])))
    assert follow["start"] == int(str(result["end"])) + 1


def test_a_long_line_is_capped_with_a_count(workspace: Workspace) -> None:
    make(workspace, "f", b"x" * 5_000_000 + b"\nnext\n")
    first, second = str(read_result(workspace, "f")["text"]).split("\n")
    assert first == "1\t" + "x" * 2000 + "… [4998000 more characters in this line]"
    assert second == "2\tnext"


def test_encoding_and_line_ends_are_named(workspace: Workspace) -> None:
    make(workspace, "f", "\ufeffcaf\u00e9\r\nx\r\n".encode("utf-16-le"))
    result = read_result(workspace, "f")
    assert (result["encoding"], result["newline"]) == ("utf-16-le with BOM", "crlf")
    assert result["text"] == "1\tcafé\n2\tx"


def test_undecodable_bytes_can_be_sent_to_any_server(workspace: Workspace) -> None:
    make(workspace, "f", "ünï çödé ".encode() + b"\xff\n")
    text = observation(read_result(workspace, "f"))
    assert "\\udcff" in text
    assert json.loads(text)["ok"]
    text.encode()


@pytest.mark.parametrize(
    ("name", "error", "words"),
    [
        ("fifo", "not_a_file", "is a FIFO"),
        ("socket", "not_a_file", "is a socket"),
        ("png", "binary", "PNG image), 12 bytes"),
        ("sparse", "binary", "5368709120 bytes"),
        ("zero", "outside_workspace", "outside the workspace"),
        ("missing", "not_found", "does not exist"),
        ("~", "not_found", "does not exist"),
        ("loop", "not_a_file", "Too many levels"),
        ("file/below", "not_found", "does not exist"),
    ],
)
def test_special_files_get_a_clear_answer(
    workspace: Workspace, name: str, error: str, words: str
) -> None:
    root = workspace.root
    os.mkfifo(root / "fifo")
    make(workspace, "png", b"\x89PNG\r\n\x1a\n\0\0\0\0")
    make(workspace, "file", b"a")
    os.truncate(make(workspace, "sparse", b""), 5 * 2**30)
    (root / "zero").symlink_to("/dev/zero")
    (root / "loop").symlink_to("loop")
    with socket.socket(socket.AF_UNIX) as listening, working_in(root):
        listening.bind("socket")
        result = read_result(workspace, name)
    assert (result["ok"], result["error"]) == (False, error)
    assert words in str(result["message"])
    assert result["next_step"]


def test_a_device_is_not_opened() -> None:
    result = read_result(workspace_at(Path("/dev")), "zero")
    assert (result["error"], result["message"]) == ("not_a_file", "zero is a character device")


def test_what_may_not_be_read_is_told(tmp_path_factory: pytest.TempPathFactory) -> None:
    folder = tmp_path_factory.mktemp("closed")
    for above in (folder.parent, folder.parent.parent, folder):
        above.chmod(0o755)
    (folder / "f").write_bytes(b"secret")
    (folder / "f").chmod(0)
    with unprivileged():
        result = read_result(workspace_at(folder), "f")
    assert (result["error"], result["message"]) == ("permission_denied", "f: Permission denied")


@pytest.mark.parametrize("name", ["line\nbreak", "spa ce", "~", "-n", "caf\udce9", "日本"])
def test_any_name_is_a_name(workspace: Workspace, name: str) -> None:
    make(workspace, name, b"text\n")
    assert read_result(workspace, name)["text"] == "1\ttext"
    listed = json.loads(observation(read_result(workspace, ".")))["entries"]
    assert read_result(workspace, listed[0])["text"] == "1\ttext"


def test_a_folder_is_answered_with_its_names(workspace: Workspace) -> None:
    make(workspace, "sub/f", b"")
    make(workspace, "a", b"")
    (workspace.root / "link").symlink_to("sub")
    assert read_result(workspace, ".") == {
        "ok": True,
        "path": ".",
        "entries": ["a", "link", "sub/"],
    }
    assert read_result(workspace, "link")["path"] == "sub"


def test_a_large_folder_is_listed_in_part_with_the_count(workspace: Workspace) -> None:
    for number in range(400):
        make(workspace, f"file-{number:040}", b"")
    result = read_result(workspace, ".")
    entries = result["entries"]
    assert isinstance(entries, list)
    assert result["not_shown"] == f"{400 - len(entries)} more"
    assert len(observation(result)) < 12_000


def test_a_large_file_is_paged_in_little_memory(workspace: Workspace) -> None:
    line = b"%09d some text of a log file \xc3\xa9\n"
    count = WHOLE_LIMIT // 30
    make(workspace, "f", b"".join(line % number for number in range(1, count + 1)))
    tracemalloc.start()
    try:
        middle = read_result(workspace, "f", count // 2, 1)
        tail = read_result(workspace, "f", -1)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert middle["text"] == f"{count // 2}\t{count // 2:09} some text of a log file é"
    assert tail["text"] == f"{count}\t{count:09} some text of a log file é"
    assert peak < WHOLE_LIMIT


def test_beyond_what_is_scanned_a_command_is_named(workspace: Workspace) -> None:
    file = make(workspace, "f", b"line\n" * 20_000)
    os.truncate(file, SCAN_LIMIT + 1)
    assert read_result(workspace, "f", 2, 1)["lines"] == "more than 20001"
    for start in (30_000, -5):
        result = read_result(workspace, "f", start)
        assert (result["error"], result["lines_within_reach"]) == ("too_large", 20_001)


def test_arguments_are_strict_but_take_a_number_as_text() -> None:
    assert ReadFileArgs.model_validate({"path": "f", "start": "3"}).start == 3
    for odd in ({"offset": 1}, {"limit": 0}, {"start": "x"}, {"start": 1.5}):
        with pytest.raises(ValidationError):
            ReadFileArgs.model_validate({"path": "f", **odd})


async def test_the_tool_reads_the_workspace_of_its_call(workspace: Workspace) -> None:
    make(workspace, "f", b"text\n")
    tool = read_file_tool()
    with use_env(ToolEnv(workspace, None, MemoryJournal(), None, 10)):
        results = [tool.invoke({"path": "f"}), await tool.ainvoke({"path": "f", "start": "1"})]
    assert set(results) == {
        '{"ok": true, "path": "f", "lines": 1, "start": 1, "end": 1, "text": "1\\ttext"}'
    }
    assert declaration_of(tool).kind == "read"


class working_in:
    """A short relative name: a socket's path may have 107 bytes only."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def __enter__(self) -> None:
        self.before = Path.cwd()
        os.chdir(self.folder)

    def __exit__(self, *_: object) -> None:
        os.chdir(self.before)


def make(workspace: Workspace, path: str, data: bytes) -> Path:
    file = workspace.root / path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(data)
    return file
