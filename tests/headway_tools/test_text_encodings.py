"""Which encoding a file is taken for, and that no byte is lost on the way through text."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headway_tools.text import binary_kind, detect, newline_style, unescape_bytes


@pytest.mark.parametrize(
    ("data", "name"),
    [
        (b"", "utf-8"),
        (b"plain", "utf-8"),
        ("日本".encode(), "utf-8"),
        (b"\x1b[31mred\x1b[0m\n", "utf-8"),
        (b"\xef\xbb\xbfx", "utf-8 with BOM"),
        (b"\xef\xbb\xbf", "utf-8 with BOM"),
        ("\ufeffx".encode("utf-16-le"), "utf-16-le with BOM"),
        ("\ufeffx".encode("utf-16-be"), "utf-16-be with BOM"),
        ("\ufeffx".encode("utf-32-le"), "utf-32-le with BOM"),
        ("key = 1".encode("utf-16-le"), "utf-16-le"),
        ("key = 1".encode("utf-16-be"), "utf-16-be"),
        ("# café".encode("latin-1"), "windows-1252 (a guess)"),
        ("“quoted”".encode("cp1252"), "windows-1252 (a guess)"),
        ("ünï\n".encode() * 3 + b"\xff", "utf-8 with invalid bytes"),
    ],
)
def test_encodings_are_told_apart(data: bytes, name: str) -> None:
    encoding = detect(data)
    assert encoding is not None
    assert encoding.name == name


@pytest.mark.parametrize(
    "data",
    [
        b"\0" * 100,
        b"text\0text",
        b"\x89PNG\r\n",
        b"%PDF-1.7\n",
        b"\x1f\x8b\x08",
        b"\xff\xfea",
        bytes(range(256)),
        b"\x7fELF",
    ],
)
def test_binary_is_told_from_text(data: bytes) -> None:
    assert detect(data) is None


def test_the_kind_of_a_binary_is_named() -> None:
    assert binary_kind(b"\x89PNG\r\n") == "PNG image"
    assert binary_kind(b"\0") == "unknown type"


@given(st.one_of(st.binary(), st.text().map(str.encode)))
def test_text_gives_back_the_bytes(data: bytes) -> None:
    encoding = detect(data)
    if encoding is not None:
        assert encoding.encode(encoding.decode(data)) == data


@given(st.text(min_size=1), st.integers(0, 200))
def test_the_beginning_of_utf8_is_utf8_wherever_it_is_cut(text: str, cut: int) -> None:
    data = text.replace("\0", "").encode()[:cut]
    encoding = detect(data, complete=False)
    assert encoding is None or encoding.name.startswith("utf-8")


@pytest.mark.parametrize(
    ("text", "style"),
    [("", "lf"), ("a\nb", "lf"), ("a\r\nb", "crlf"), ("a\r\nb\n", "mixed"), ("a\rb", "cr")],
)
def test_line_ends_are_named(text: str, style: str) -> None:
    assert newline_style(text) == style


def test_escapes_of_undecodable_bytes_are_undone() -> None:
    assert unescape_bytes(r"caf\udce9 \ud800 \udc7f \n") == "caf\udce9 \\ud800 \\udc7f \\n"
