import os
import signal
import sqlite3
import stat
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headway_tools.errors import HeadwayError, ToolFailure
from headway_tools.journal import Content, Journal, MemoryJournal, Ref, SqliteJournal
from headway_tools.journal.sqlite import KEPT_CALLS


@pytest.fixture(params=["memory", "file"])
def journal(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Journal]:
    made = MemoryJournal() if request.param == "memory" else SqliteJournal(tmp_path / "j.sqlite")
    yield made
    made.close()


def record(journal: Journal, key: str, content: Content) -> Ref:
    return journal.finish(key, call=key, name="bash", status="success", content=content)


def test_a_finished_call_is_found_with_its_whole_content(journal: Journal) -> None:
    content = "line\n" * 3 + "end \ud800\x00 é"
    ref = journal.finish(
        "task/c1", call="c1", name="bash", status="error", content=content, before="s1", after="s2"
    )
    assert journal.read(ref["output"]) == content
    entry = journal.lookup("task/c1")
    assert entry is not None
    assert (entry.state, entry.call, entry.name, entry.ref) == ("done", "c1", "bash", ref)
    assert (ref["size"], ref["lines"], ref["kind"]) == (len(content), 4, "text")
    assert (ref["before"], ref["after"]) == ("s1", "s2")
    assert "may_have_run" not in ref


def test_content_blocks_come_back_as_blocks(journal: Journal) -> None:
    blocks = [{"type": "text", "text": "a"}, {"type": "image", "base64": "QUJD"}]
    ref = record(journal, "k", blocks)
    assert ref["kind"] == "blocks"
    assert journal.read(ref["output"]) == blocks


def test_a_started_call_says_that_it_may_have_run(journal: Journal) -> None:
    journal.start("task/c1", call="c1", name="edit", before="s1")
    entry = journal.lookup("task/c1")
    assert entry is not None
    assert (entry.state, entry.name, entry.before, entry.ref) == ("started", "edit", "s1", None)
    ref = journal.finish(
        "task/c1", call="c1", name="edit", status="error", content="?", may_have_run=True
    )
    assert ref.get("may_have_run") is True


def test_a_forgotten_call_was_never_there(journal: Journal) -> None:
    journal.start("k", call="c", name="edit", before=None)
    journal.forget("k")
    assert journal.lookup("k") is None
    assert journal.lookup("other") is None


def test_the_first_result_of_a_call_stays(journal: Journal) -> None:
    first = record(journal, "k", "first")
    assert record(journal, "k", "second") == first
    journal.start("k", call="k", name="bash", before=None)
    entry = journal.lookup("k")
    assert entry is not None
    assert entry.ref == first


def test_equal_contents_have_one_id_and_different_ones_differ(journal: Journal) -> None:
    a, b, c = (record(journal, key, text) for key, text in [("1", "x"), ("2", "x"), ("3", "y")])
    assert a["output"] == b["output"] != c["output"]


def test_an_unknown_id_is_told_to_the_model(journal: Journal) -> None:
    with pytest.raises(ToolFailure) as failure:
        journal.read("o-00000000")
    assert failure.value.code == "unknown_output"


@pytest.mark.parametrize("odd", ["call_x__thought__" + "A" * 1500, "id\x00with/../../etc", ""])
def test_any_call_id_is_a_key(journal: Journal, odd: str) -> None:
    ref = record(journal, f"task/{odd}", "content")
    entry = journal.lookup(f"task/{odd}")
    assert entry is not None
    assert entry.ref == ref


def test_the_oldest_contents_expire_by_count_and_the_newest_calls_never_do(tmp_path: Path) -> None:
    journal = SqliteJournal(tmp_path / "j", max_entries=KEPT_CALLS + 10)
    refs = [record(journal, str(i), f"content {i}") for i in range(KEPT_CALLS + 30)]
    for ref in refs[:20]:
        with pytest.raises(ToolFailure) as failure:
            journal.read(ref["output"])
        assert failure.value.code == "expired"
    assert [journal.read(ref["output"]) for ref in refs[20:]] == [
        f"content {i}" for i in range(20, len(refs))
    ]
    entry = journal.lookup("0")
    assert entry is not None
    assert entry.ref == refs[0]
    journal.close()


def test_the_newest_calls_stay_even_beyond_the_bytes(tmp_path: Path) -> None:
    journal = SqliteJournal(tmp_path / "j", max_bytes=10)
    refs = [record(journal, str(i), f"{i} " * 100) for i in range(KEPT_CALLS)]
    assert all(journal.read(ref["output"]) for ref in refs)
    journal.close()


def test_the_file_stays_bounded(tmp_path: Path) -> None:
    journal = SqliteJournal(tmp_path / "j", max_bytes=8_000_000)
    for i in range(400):
        record(journal, str(i), f"{i:05}" * 20_000)
    journal.close()
    assert sum(path.stat().st_size for path in tmp_path.iterdir()) < 24_000_000


def test_a_content_that_is_seen_again_is_young_again(tmp_path: Path) -> None:
    journal = SqliteJournal(tmp_path / "j", max_entries=KEPT_CALLS)
    old = record(journal, "old", "again")
    for i in range(KEPT_CALLS):
        record(journal, f"a{i}", str(i))
    with pytest.raises(ToolFailure):
        journal.read(old["output"])
    assert record(journal, "new", "again")["output"] == old["output"]
    assert journal.read(old["output"]) == "again"
    journal.close()


def test_the_files_are_private(tmp_path: Path) -> None:
    before = os.umask(0o022)
    try:
        journal = SqliteJournal(tmp_path / "j")
        record(journal, "k", "secret")
        modes = {stat.S_IMODE(path.stat().st_mode) for path in tmp_path.iterdir()}
    finally:
        os.umask(before)
    journal.close()
    assert modes == {0o600}


def test_a_second_object_reads_what_the_first_recorded(tmp_path: Path) -> None:
    first = SqliteJournal(tmp_path / "j")
    ref = record(first, "k", "text")
    second = SqliteJournal(tmp_path / "j")
    assert second.read(ref["output"]) == "text"
    first.close()
    second.close()


def test_threads_share_one_journal(journal: Journal) -> None:
    def work(number: int) -> Content:
        journal.start(str(number), call="c", name="bash", before=None)
        return journal.read(record(journal, str(number), f"content {number}")["output"])

    with ThreadPoolExecutor(16) as pool:
        assert list(pool.map(work, range(200))) == [f"content {i}" for i in range(200)]


def test_processes_share_one_file(tmp_path: Path) -> None:
    script = textwrap.dedent("""
        import sys
        from headway_tools.journal import SqliteJournal
        journal = SqliteJournal(sys.argv[1])
        for i in range(20):
            key = f"{sys.argv[2]}/{i}"
            journal.finish(key, call="c", name="bash", status="success", content=key)
        journal.close()
    """)
    path = tmp_path / "j"
    workers = [
        subprocess.Popen([sys.executable, "-c", script, str(path), str(n)]) for n in range(3)
    ]
    assert [worker.wait() for worker in workers] == [0, 0, 0]
    journal = SqliteJournal(path)
    assert all(journal.lookup(f"{n}/{i}") for n in range(3) for i in range(20))
    journal.close()


def test_what_a_killed_process_recorded_is_there(tmp_path: Path) -> None:
    script = textwrap.dedent("""
        import os, signal, sys
        from headway_tools.journal import SqliteJournal
        journal = SqliteJournal(sys.argv[1])
        journal.finish("done", call="c", name="bash", status="success", content="whole")
        journal.start("open", call="d", name="bash", before=None)
        os.kill(os.getpid(), signal.SIGKILL)
    """)
    done = subprocess.run([sys.executable, "-c", script, str(tmp_path / "j")], check=False)
    assert done.returncode == -signal.SIGKILL
    journal = SqliteJournal(tmp_path / "j")
    entries = journal.lookup("done"), journal.lookup("open")
    assert entries[0] is not None
    assert entries[1] is not None
    assert entries[0].ref is not None
    assert journal.read(entries[0].ref["output"]) == "whole"
    assert entries[1].state == "started"
    journal.close()


def test_a_damaged_row_is_one_clear_error_and_the_rest_is_fine(tmp_path: Path) -> None:
    journal = SqliteJournal(tmp_path / "j")
    bad, good = record(journal, "bad", "one"), record(journal, "good", "two")
    with sqlite3.connect(tmp_path / "j") as other:
        other.execute("UPDATE outputs SET body = x'ff00' WHERE output = ?", (bad["output"],))
        other.execute("UPDATE calls SET ref = '{' WHERE key = 'bad'")
    other.close()
    with pytest.raises(ToolFailure, match="damaged"):
        journal.read(bad["output"])
    with pytest.raises(HeadwayError, match="journal"):
        journal.lookup("bad")
    assert journal.read(good["output"]) == "two"
    assert record(journal, "next", "three")["output"] != bad["output"]
    journal.close()


def test_a_full_disk_is_told_as_one_and_what_fits_is_still_recorded(tmp_path: Path) -> None:
    journal = SqliteJournal(tmp_path / "j")
    journal._db.execute("PRAGMA max_page_count = 20")
    for key in ("first", "second"):
        with pytest.raises(HeadwayError, match="disk is full"):
            record(journal, key, "x" * 200_000)
    assert journal.read(record(journal, "third", "small")["output"]) == "small"
    journal.close()


def test_a_file_that_is_no_journal_is_one_clear_error(tmp_path: Path) -> None:
    (tmp_path / "j").write_bytes(b"not a database, but long enough to be looked at" * 100)
    with pytest.raises(HeadwayError, match="cannot be used"):
        SqliteJournal(tmp_path / "j")
    with pytest.raises(HeadwayError, match="cannot be used"):
        SqliteJournal(tmp_path / "no such folder" / "j")


@given(st.lists(st.tuples(st.integers(0, 5), st.text(max_size=5)), max_size=20))
def test_it_is_a_map_from_call_to_first_content(writes: list[tuple[int, str]]) -> None:
    journal, model = MemoryJournal(), dict[str, str]()
    for number, content in writes:
        record(journal, str(number), content)
        model.setdefault(str(number), content)
    for key, content in model.items():
        entry = journal.lookup(key)
        assert entry is not None
        assert entry.ref is not None
        assert journal.read(entry.ref["output"]) == content
    journal.close()
