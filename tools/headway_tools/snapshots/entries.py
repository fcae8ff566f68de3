"""The values of a snapshot: entries of folders, their encoding, changes, notes, reports.

A folder is a sorted list of named entries; its id is the hash of the encoded list, so equal
folders have equal ids (a Merkle tree). Names and paths are bytes; `display` is for people.
"""

import os
import struct
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import Literal, NamedTuple

Kind = Literal["file", "folder", "link", "fifo", "unkept"]
ChangeKind = Literal["added", "changed", "deleted", "mode", "type", "links"]
Reason = Literal[
    "excluded",
    "too_large",
    "store_full",
    "too_deep",
    "socket",
    "device",
    "unreadable",
    "changed_while_read",
    "replaced",
    "not_empty",
    "blocked",
]
Xattrs = tuple[tuple[bytes, bytes], ...]
Groups = tuple[tuple[bytes, ...], ...]
"""Paths that share one inode, each group and all groups sorted."""

_KINDS: tuple[Kind, ...] = ("file", "folder", "link", "fifo", "unkept")
_HEAD = struct.Struct("<BHQHHI")  # kind, mode, size; lengths of name, id, attributes
_PAIR = struct.Struct("<HI")
_LENGTH = struct.Struct("<I")


class Entry(NamedTuple):
    """One name in a folder.

    `id` is the content's hash (file), the folder's hash, the target (link), the reason and, for
    large files, the time of the last change (unkept). `mtime_ns` is no part of equality in
    comparisons and of no hash.
    """

    kind: Kind
    mode: int
    id: bytes
    size: int = 0
    xattrs: Xattrs = ()
    mtime_ns: int = 0

    @property
    def content(self) -> tuple[Kind, bytes, int]:
        return self.kind, self.id, self.size

    @property
    def reason(self) -> Reason:
        """Why an `unkept` entry is not kept."""
        return self.id.split(b" ")[0].decode()  # type: ignore[return-value]

    @property
    def attributes(self) -> tuple[int, Xattrs]:
        return self.mode, self.xattrs


@dataclass(frozen=True, slots=True)
class Change:
    """One path that differs between two states; `before` or `after` is None where absent.

    `kind`: `type` is another kind of entry, `mode` permissions or extended attributes only,
    `links` the same content with other hard links.
    """

    raw: bytes
    kind: ChangeKind
    before: Entry | None
    after: Entry | None

    @property
    def path(self) -> str:
        """For people; "." for the root itself."""
        return display(self.raw) or "."


@dataclass(frozen=True, slots=True)
class Note:
    """A path whose content a snapshot does not hold, or a restore did not bring back, and why."""

    raw: bytes
    reason: Reason
    size: int = 0

    @property
    def path(self) -> str:
        return display(self.raw)


@dataclass(frozen=True, slots=True)
class Report:
    """What a restore or an extraction did.

    `before` is the snapshot of the folder as it was (None for a fresh folder): restoring it is
    the undo. `notes` names what the snapshot does not hold and what was left alone.
    """

    snapshot: str
    before: str | None
    changes: list[Change] = field(default_factory=list)
    notes: list[Note] = field(default_factory=list)


def display(raw: bytes) -> str:
    """A path for people and JSON: undecodable bytes become `\\xNN`. Not reversible."""
    return raw.decode("utf-8", "backslashreplace")


def digest(data: bytes) -> bytes:
    return blake2b(data, digest_size=20).digest()


def join(folder: bytes, name: bytes) -> bytes:
    return folder + b"/" + name if folder else name


def raw_path(path: str | bytes) -> bytes:
    """A relative path as bytes, from what a caller has (`os.fsencode` for text)."""
    raw = os.fsencode(path)
    return b"/".join(part for part in raw.split(b"/") if part not in (b"", b"."))


def encode_folder(entries: Mapping[bytes, Entry]) -> bytes:
    """The bytes that a folder's id is the hash of: entries in the order of their names."""
    parts = []
    for name in sorted(entries):
        entry = entries[name]
        attributes = _encode_xattrs(entry.xattrs)
        head = _HEAD.pack(
            _KINDS.index(entry.kind),
            entry.mode,
            entry.size,
            len(name),
            len(entry.id),
            len(attributes),
        )
        parts.append(head + name + entry.id + attributes)
    return b"".join(parts)


def decode_folder(data: bytes) -> dict[bytes, Entry]:
    """The inverse of `encode_folder`; times of change are 0."""
    entries: dict[bytes, Entry] = {}
    at = 0
    while at < len(data):
        kind, mode, size, name_length, id_length, xattrs_length = _HEAD.unpack_from(data, at)
        name_end = at + _HEAD.size + name_length
        id_end = name_end + id_length
        name = data[at + _HEAD.size : name_end]
        at = id_end + xattrs_length
        xattrs = _decode_xattrs(data[id_end:at])
        entries[name] = Entry(_KINDS[kind], mode, data[name_end:id_end], size, xattrs)
    return entries


def encode_times(entries: Mapping[bytes, Entry]) -> bytes:
    return struct.pack(f"<{len(entries)}q", *(entries[name].mtime_ns for name in sorted(entries)))


def decode_times(data: bytes) -> tuple[int, ...]:
    """The times of change of a folder's entries, in the order of their names."""
    return struct.unpack(f"<{len(data) // 8}q", data)


def encode_snapshot(root: Entry, groups: Groups) -> bytes:
    """What a snapshot's id is the hash of: the root folder's entry and the hard-link groups."""
    folder = encode_folder({b"": root})
    links = b"\0\0".join(b"\0".join(group) for group in groups)
    return _LENGTH.pack(len(folder)) + folder + links


def decode_snapshot(data: bytes) -> tuple[Entry, Groups]:
    end = _LENGTH.size + _LENGTH.unpack_from(data)[0]
    root = decode_folder(data[_LENGTH.size : end])[b""]
    links = data[end:]
    groups = tuple(tuple(group.split(b"\0")) for group in links.split(b"\0\0")) if links else ()
    return root, groups


def encode_notes(notes: Iterable[Note]) -> bytes:
    fields = (b"%s\0%d\0%s" % (n.reason.encode(), n.size, n.raw) for n in notes)
    return b"\0".join(fields)


def decode_notes(data: bytes) -> list[Note]:
    fields = iter(data.split(b"\0") if data else ())
    return [
        Note(raw, reason.decode(), int(size))  # type: ignore[arg-type]
        for reason, size, raw in zip(fields, fields, fields, strict=True)
    ]


def _encode_xattrs(xattrs: Xattrs) -> bytes:
    return b"".join(_PAIR.pack(len(k), len(v)) + k + v for k, v in xattrs)


def _decode_xattrs(data: bytes) -> Xattrs:
    return tuple(_pairs(data)) if data else ()


def _pairs(data: bytes) -> Iterator[tuple[bytes, bytes]]:
    at = 0
    while at < len(data):
        key_length, value_length = _PAIR.unpack_from(data, at)
        key_end = at + _PAIR.size + key_length
        value_end = key_end + value_length
        yield data[at + _PAIR.size : key_end], data[key_end:value_end]
        at = value_end
