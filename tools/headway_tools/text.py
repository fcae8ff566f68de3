"""Bytes to text and back without loss: every encoding here gives back the bytes it was given.

Undecodable bytes become lone surrogates (PEP 383), which results show as `\\udcXX`.
"""

import codecs
import re
from dataclasses import dataclass
from typing import Final

_ESCAPE = re.compile(r"\\udc([89a-f][0-9a-f])")
_SURROGATE = re.compile("[\udc80-\udcff]")
_CONTROLS: Final = bytes({*range(32), 127} - set(b"\t\n\r\f\b\x1b"))
_MOST_CONTROLS: Final = 0.02


@dataclass(frozen=True)
class Encoding:
    """How a file's bytes are text. `decode` takes the bytes behind the byte-order mark."""

    name: str
    codec: str
    bom: bytes = b""
    errors: str = "strict"

    def decode(self, data: bytes) -> str:
        return data[len(self.bom) :].decode(self.codec, self.errors)

    def encode(self, text: str) -> bytes:
        """With the byte-order mark; UnicodeEncodeError for what the encoding lacks."""
        return self.bom + text.encode(self.codec, self.errors)


UTF8: Final = Encoding("utf-8", "utf-8")
_UTF8_ESCAPED: Final = Encoding("utf-8 with invalid bytes", "utf-8", errors="surrogateescape")
_WINDOWS: Final = Encoding("windows-1252 (a guess)", "cp1252", errors="surrogateescape")
_UTF16: Final = (Encoding("utf-16-le", "utf-16-le"), Encoding("utf-16-be", "utf-16-be"))
_MARKED: Final = (
    Encoding("utf-8 with BOM", "utf-8", codecs.BOM_UTF8, "surrogateescape"),
    Encoding("utf-32-le with BOM", "utf-32-le", codecs.BOM_UTF32_LE),
    Encoding("utf-32-be with BOM", "utf-32-be", codecs.BOM_UTF32_BE),
    Encoding("utf-16-le with BOM", "utf-16-le", codecs.BOM_UTF16_LE),
    Encoding("utf-16-be with BOM", "utf-16-be", codecs.BOM_UTF16_BE),
)
_KINDS: Final = {
    b"\x89PNG": "PNG image",
    b"\xff\xd8\xff": "JPEG image",
    b"GIF8": "GIF image",
    b"RIFF": "RIFF media",
    b"%PDF-": "PDF document",
    b"PK\x03\x04": "ZIP archive",
    b"\x1f\x8b": "gzip archive",
    b"BZh": "bzip2 archive",
    b"\xfd7zXZ\x00": "xz archive",
    b"\x28\xb5\x2f\xfd": "zstd archive",
    b"\x7fELF": "ELF program",
    b"\xca\xfe\xba\xbe": "Java class or Mach-O program",
    b"\x00asm": "WebAssembly module",
    b"SQLite format 3\x00": "SQLite database",
}


def binary_kind(data: bytes) -> str:
    """The type that the first bytes give away, or "unknown type"."""
    return next((kind for magic, kind in _KINDS.items() if data.startswith(magic)), "unknown type")


def detect(data: bytes, *, complete: bool = True) -> Encoding | None:
    """The encoding of a file with this content, or (not `complete`) beginning; None for binary.

    In order: byte-order mark, known binary types, UTF-16 by its NUL bytes, UTF-8, UTF-8 with some
    invalid bytes, and windows-1252 for what is left, because it takes every byte.
    """
    for encoding in _MARKED:
        if data.startswith(encoding.bom):
            return encoding if _decodes(data, encoding, complete) else None
    if binary_kind(data) != "unknown type":
        return None
    if b"\0" in data:
        return _utf16(data, complete)
    if _decodes(data, UTF8, complete):
        return UTF8
    controls = len(data) - len(data.translate(None, _CONTROLS))
    if controls > len(data) * _MOST_CONTROLS:
        return None
    return _UTF8_ESCAPED if _mostly_utf8(data) else _WINDOWS


def newline_style(text: str) -> str:
    """ "lf", "crlf", "cr" or "mixed"; "lf" for a text without line ends."""
    crlf = text.count("\r\n")
    lf = text.count("\n") - crlf
    if crlf:
        return "mixed" if lf else "crlf"
    return "cr" if "\r" in text and not lf else "lf"


def unescape_bytes(text: str) -> str:
    """Undo what results show for undecodable bytes: `\\udce9` becomes that lone surrogate."""
    return _ESCAPE.sub(lambda match: chr(0xDC00 + int(match[1], 16)), text)


def _decodes(data: bytes, encoding: Encoding, complete: bool) -> bool:
    decoder = codecs.getincrementaldecoder(encoding.codec)(encoding.errors)
    try:
        decoder.decode(data[len(encoding.bom) :], final=complete)
    except UnicodeDecodeError:
        return False
    return True


def _utf16(data: bytes, complete: bool) -> Encoding | None:
    """Mostly NUL on one side of each pair and never on the other: western text in UTF-16."""
    even, odd = data[::2].count(0), data[1::2].count(0)
    for encoding, many, none in ((_UTF16[0], odd, even), (_UTF16[1], even, odd)):
        if not none and many > len(data) * 0.2 and _decodes(data, encoding, complete):
            return encoding
    return None


def _mostly_utf8(data: bytes) -> bool:
    text = data.decode("utf-8", "surrogateescape")
    bad = len(_SURROGATE.findall(text))
    good = sum(not character.isascii() for character in text) - bad
    return good > bad
