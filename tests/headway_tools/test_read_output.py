import json
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headway_tools.blocks import RESULT_CHARACTERS
from headway_tools.env import ToolEnv, use_env
from headway_tools.errors import ToolFailure
from headway_tools.journal import MemoryJournal
from headway_tools.kinds import declaration_of
from headway_tools.read_output import (
    MATCHES,
    PAGE_LINES,
    read_output_tool,
)

TOOL = read_output_tool()


@pytest.fixture
def journal() -> Iterator[MemoryJournal]:
    made = MemoryJournal()
    with use_env(env_of(made)):
        yield made
    made.close()


def env_of(journal: MemoryJournal) -> ToolEnv:
    return ToolEnv(workspace=None, sandbox=None, journal=journal, snapshots=None, tool_timeout=10.0)


def keep(journal: MemoryJournal, content: str | list[Any]) -> str:
    ref = journal.finish("k", call="c", name="bash", status="success", content=content)
    return ref["output"]


def read(**args: Any) -> dict[str, Any]:
    text = TOOL.invoke(args)
    assert len(text) <= RESULT_CHARACTERS
    result: dict[str, Any] = json.loads(text)
    assert result["ok"] is True
    return result


def read_all(**args: Any) -> str:
    """All pages joined, each asked for as the one before says."""
    page = read(**args)
    text: str = page["content"]
    while "next" in page:
        page = read(**args | {"start": None, "offset": None} | page["next"])
        assert page["content"]
        text += page["content"]
    return text


def test_pages_of_lines_join_to_the_whole(journal: MemoryJournal) -> None:
    whole = "".join(f"line {i}\n" for i in range(1, 1_000))
    output = keep(journal, whole)
    first = read(id=output)
    assert first["content"].count("\n") == PAGE_LINES
    assert first["next"] == {"start": PAGE_LINES + 1}
    assert (first["total_lines"], first["total_characters"]) == (999, len(whole))
    assert read_all(id=output) == whole


def test_a_range_of_lines_is_read(journal: MemoryJournal) -> None:
    output = keep(journal, "".join(f"line {i}\n" for i in range(1, 1_000)))
    page = read(id=output, start=500, lines=2)
    assert (page["content"], page["line"]) == ("line 500\nline 501\n", 500)
    assert page["next"] == {"start": 502}


def test_a_giant_line_pages_by_characters_and_joins_back(journal: MemoryJournal) -> None:
    whole = json.dumps({"rows": [{"id": i, "name": f'é "{i}" \\'} for i in range(9_000)]})
    assert len(whole) > 300_000
    output = keep(journal, whole)
    assert read_all(id=output) == whole
    assert read_all(id=output, offset=0) == whole
    assert (
        read(id=output, offset=250_000)["content"]
        == whole[250_000:][:20]
        + read(id=output, offset=250_020)["content"][
            : len(read(id=output, offset=250_000)["content"]) - 20
        ]
    )


def test_a_text_field_of_a_json_result_is_read_as_text(journal: MemoryJournal) -> None:
    log = "".join(f'"{i}"\n' for i in range(5_000))
    output = keep(journal, json.dumps({"ok": True, "output": log, "more": {"inner": "deep"}}))
    assert read_all(id=output, field="output") == log
    assert read(id=output, field="more.inner")["content"] == "deep"
    for wrong in ("missing", "ok", "more.inner.x"):
        with pytest.raises(ToolFailure, match="no text field"):
            TOOL.invoke({"id": output, "field": wrong})


def test_content_blocks_are_read_as_text_without_media(journal: MemoryJournal) -> None:
    blocks = [
        {"type": "text", "text": "seen"},
        {"type": "image", "base64": "A" * 50_000},
        {"type": "rows", "rows": [1]},
        "plain",
    ]
    text = read(id=keep(journal, blocks))["content"]
    assert text == 'seen\n{"type": "rows", "rows": [1]}\nplain'


def test_a_fixed_text_is_found_with_its_line(journal: MemoryJournal) -> None:
    lines = [f"line {i}" for i in range(1, 6_001)]
    lines[2_999] = "E   KeyError: 'user_id' (.*"
    found = read(id=keep(journal, "\n".join(lines)), text="KeyError: 'user_id' (.*")
    assert found["occurrences"] == 1
    assert found["lines_with_it"] == [
        {
            "line": 3_000,
            "offset": sum(len(line) + 1 for line in lines[:2_999]) + 4,
            "content": "line 2999\nE   KeyError: 'user_id' (.*\nline 3001",
        }
    ]


def test_many_places_come_in_pages_that_miss_none(journal: MemoryJournal) -> None:
    output = keep(journal, "".join(f"hit {i}\nmiss\n" for i in range(100)))
    found: list[int] = []
    page = read(id=output, text="hit")
    assert (page["occurrences"], len(page["lines_with_it"])) == (100, MATCHES)
    while True:
        found += [match["line"] for match in page["lines_with_it"]]
        if "next" not in page:
            break
        page = read(id=output, text="hit", **page["next"])
    assert found == [2 * i + 1 for i in range(100)]


def test_a_text_that_is_not_there_is_an_answer(journal: MemoryJournal) -> None:
    found = read(id=keep(journal, "abc"), text="Abc")
    assert (found["occurrences"], found["lines_with_it"]) == (0, [])


def test_matches_in_a_giant_line_are_bounded(journal: MemoryJournal) -> None:
    found = read(id=keep(journal, "needle" * 100_000), text="needle")
    assert found["occurrences"] == 100_000
    assert "next" in found


@pytest.mark.parametrize(
    ("args", "code"),
    [
        ({"start": 4}, "past_end"),
        ({"start": 5}, "past_end"),
        ({"offset": 6}, "past_end"),
        ({"offset": -1}, "past_end"),
        ({"text": ""}, "invalid_arguments"),
        ({"id": "o-ffffffff"}, "unknown_output"),
        ({"id": "../../etc/passwd"}, "unknown_output"),
    ],
)
def test_wrong_places_say_what_is_there(
    journal: MemoryJournal, args: dict[str, Any], code: str
) -> None:
    output = keep(journal, "a\nb\nc\n")
    with pytest.raises(ToolFailure) as failure:
        TOOL.invoke({"id": output} | args)
    assert failure.value.code == code


def test_a_number_of_lines_holds_behind_an_offset_too(journal: MemoryJournal) -> None:
    page = read(id=keep(journal, "one\ntwo\nthree\n"), offset=2, lines=2)
    assert (page["content"], page["line"], page["next"]) == ("e\ntwo\n", 1, {"start": 3})


def test_numbers_below_one_mean_the_beginning(journal: MemoryJournal) -> None:
    output = keep(journal, "a\nb\nc")
    for start in (0, -5, "1"):
        assert read(id=output, start=start)["content"] == "a\nb\nc"
    assert read(id=output, lines=0)["content"] == "a\n"
    assert read(id=keep_empty(journal))["content"] == ""


def keep_empty(journal: MemoryJournal) -> str:
    return journal.finish("e", call="e", name="bash", status="success", content="")["output"]


def test_another_threads_output_is_unknown(journal: MemoryJournal) -> None:
    other = MemoryJournal()
    output = keep(other, "of another conversation")
    with pytest.raises(ToolFailure, match="this conversation has no output"):
        TOOL.invoke({"id": output})
    other.close()


def test_an_expired_output_says_so() -> None:
    journal = MemoryJournal(max_entries=1)
    output = keep(journal, "old")
    for i in range(70):
        journal.finish(f"{i}", call="c", name="bash", status="success", content=f"{i}")
    with use_env(env_of(journal)), pytest.raises(ToolFailure) as failure:
        TOOL.invoke({"id": output})
    assert failure.value.code == "expired"
    journal.close()


def test_it_reads_only() -> None:
    declared = declaration_of(TOOL)
    assert (declared.kind, declared.own) == ("read", True)


pieces = st.text(st.sampled_from('ab\n\r"\\é😀\x00\x1b\ud800'), max_size=30)


@settings(max_examples=25, deadline=None)
@given(pieces, st.integers(1, 800), pieces, st.booleans())
def test_pages_of_any_text_are_bounded_and_join_back(
    unit: str, times: int, end: str, by_offset: bool
) -> None:
    whole = unit * times + end
    journal = MemoryJournal()
    with use_env(env_of(journal)):
        output = keep(journal, whole)
        joined = read_all(id=output, **({"offset": 0} if by_offset else {}))
    journal.close()
    assert joined == whole
