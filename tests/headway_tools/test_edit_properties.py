"""Over random files: an edit changes the matched bytes and no other, or changes nothing."""

import tempfile
from dataclasses import dataclass
from pathlib import Path

import pytest
from files_support import edit_result, workspace_at
from hypothesis import HealthCheck, event, example, given, settings
from hypothesis import strategies as st

CODECS = {
    "utf-8": b"",
    "utf-8-sig": b"\xef\xbb\xbf",
    "utf-16-le": b"\xff\xfe",
    "utf-16-be": b"\xfe\xff",
    "utf-32-le": b"\xff\xfe\x00\x00",
    "latin-1": b"",
    "cp1252": b"",
    "gbk": b"",
    "shift-jis": b"",
    "koi8-r": b"",
}

WORDS = st.sampled_from(
    [
        "x",
        "ab",
        "aa",
        "    ",
        "\t",
        "return",
        "é",
        "ß",
        "日本",
        "имя",
        "📁",
        "e\u0301",
        "“",
        "\u00a0",
    ]
)
ENDS = st.sampled_from(["\n", "\n", "\r\n", "\r\n", "\r", ""])
PIECES = st.lists(
    st.one_of(WORDS, ENDS, st.characters(codec="utf-8", exclude_characters="\0")), min_size=1
)


@dataclass(frozen=True)
class Sample:
    """A file, a fragment of it, and what the bytes around that fragment are."""

    data: bytes
    before: bytes
    old: str
    behind: bytes
    new: str


@st.composite
def samples(draw: st.DrawFn) -> Sample:
    codec, bom = draw(st.sampled_from(sorted(CODECS.items())))
    codec = codec.removesuffix("-sig")
    text = "".join(draw(PIECES)).encode(codec, "ignore").decode(codec)
    start = draw(st.integers(0, max(0, len(text) - 1)))
    end = draw(st.integers(min(len(text), start + 1), min(len(text), start + 40)))
    start -= text[start - 1 : start + 1] == "\r\n"
    end += text[end - 1 : end + 1] == "\r\n"
    sent = text[start:end].replace("\r\n", "\n") if draw(st.booleans()) else text[start:end]
    if "\r\n" in sent and text.count(sent) == 1:
        start, end = text.index(sent), text.index(sent) + len(sent)
    parts = [part.encode(codec) for part in (text[:start], text[start:end], text[end:])]
    new = "".join(draw(PIECES))
    return Sample(bom + b"".join(parts), bom + parts[0], sent, parts[2], new)


def fault(sample: Sample) -> str:
    """What an edit of the sample does wrong, empty if nothing."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "file")
        file.write_bytes(sample.data)
        result = edit_result(workspace_at(Path(folder)), "file", sample.old, sample.new)
        after = file.read_bytes()
        left = [path for path in Path(folder).iterdir() if path != file]
    event(str(result.get("error", "ok")))
    if left:
        return f"left {left}"
    if not result["ok"]:
        return "" if after == sample.data and result["next_step"] else "refused, but changed"
    middle = len(after) - len(sample.before) - len(sample.behind)
    around = after.startswith(sample.before) and after.endswith(sample.behind)
    return "" if around and middle >= 0 and after != sample.data else f"changed to {after!r}"


MAY_MEAN_TWO_PLACES = Sample(b"xxxx\nx\r\r\n", b"xxxx\n", "x\r\n", b"", "")


@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(samples())
@example(MAY_MEAN_TWO_PLACES)
def test_no_byte_changes_outside_the_match(sample: Sample) -> None:
    assert fault(sample) == ""


@pytest.mark.slow
@settings(max_examples=10_000, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(samples())
def test_no_byte_changes_outside_the_match_in_10_000_files(sample: Sample) -> None:
    assert fault(sample) == ""


@settings(max_examples=200, deadline=None)
@given(st.binary(max_size=60), st.text(max_size=5), st.text(max_size=5))
def test_any_bytes_with_any_call_change_only_where_the_fragment_stands(
    data: bytes, old: str, new: str
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "file")
        file.write_bytes(data)
        result = edit_result(workspace_at(Path(folder)), "file", old, new)
        assert result["ok"] or file.read_bytes() == data
