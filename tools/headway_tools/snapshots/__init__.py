"""Workspace states by content: take, compare, read, restore, extract, collect."""

from headway_tools.snapshots.compare import without_indexes
from headway_tools.snapshots.entries import Change, Entry, Note, Report
from headway_tools.snapshots.rules import CACHES, DEFAULT_EXCLUDED, DEPENDENCIES
from headway_tools.snapshots.snapshots import Snapshots

__all__ = [
    "CACHES",
    "DEFAULT_EXCLUDED",
    "DEPENDENCIES",
    "Change",
    "Entry",
    "Note",
    "Report",
    "Snapshots",
    "without_indexes",
]
