"""The stat cache: what was read from each folder, so that an unchanged file is not read again.

A file is unchanged if its stamp is (times of change of content and inode, size, inode, mode).
Files changed within the last instants before a scan are read again by the next one: a second
change in the same clock tick would leave the same stamp ("racy clean").
"""

import os
import struct
from collections.abc import Mapping
from dataclasses import dataclass, field

from headway_tools.snapshots.entries import Entry, decode_folder, encode_folder

RACY_NS = 20_000_000

Stamp = tuple[int, int, int, int, int]
"""mtime_ns, ctime_ns, size, inode, mode."""
Known = tuple[Stamp, Entry]

_STAMP = struct.Struct("<qqqQI")
_LENGTH = struct.Struct("<I")


@dataclass(slots=True)
class FolderStats:
    """What the last scan found in one folder: stamped files, all entries, the folder's id."""

    files: dict[bytes, Known] = field(default_factory=dict)
    entries: dict[bytes, Entry] = field(default_factory=dict)
    id: bytes = b""
    folders: dict[bytes, Known] = field(default_factory=dict)
    """Stamps of the folders in it; they save reading attributes and are not kept in the store."""


Stats = dict[bytes, FolderStats]
"""By the folder's path below the root."""


def stamp_of(status: os.stat_result) -> Stamp:
    return (
        status.st_mtime_ns,
        status.st_ctime_ns,
        status.st_size,
        status.st_ino,
        status.st_mode,
    )


def lasting(stamp: Stamp, racy_ns: int) -> Stamp:
    """The stamp to remember: one that no file ever has if this one is too fresh to be trusted."""
    fresh = stamp[0] >= racy_ns or stamp[1] >= racy_ns
    return (stamp[0], -1, *stamp[2:]) if fresh else stamp


def encode_stats(files: Mapping[bytes, Known]) -> bytes:
    """The stamped files of one folder, for the next process."""
    names = sorted(files)
    stamps = b"".join(_STAMP.pack(*files[name][0]) for name in names)
    entries = encode_folder({name: files[name][1] for name in names})
    return _LENGTH.pack(len(names)) + stamps + entries


def decode_stats(data: bytes) -> FolderStats:
    """The inverse; the folder's id is unknown, so its next scan encodes it once."""
    (count,) = _LENGTH.unpack_from(data)
    end = _LENGTH.size + count * _STAMP.size
    stamps = _STAMP.iter_unpack(data[_LENGTH.size : end])
    files: dict[bytes, Known] = {}
    for stamp, (name, entry) in zip(stamps, decode_folder(data[end:]).items(), strict=True):
        mtime_ns, ctime_ns, size, inode, mode = stamp
        known = entry._replace(mtime_ns=mtime_ns)
        files[name] = ((mtime_ns, ctime_ns, size, inode, mode), known)
    return FolderStats(files)
