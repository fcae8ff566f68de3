"""The journal of one thread: every tool result once, whole, outside checkpoints.

A row per call, by `<task id>/<call id>`: the task id is the same when a killed step resumes and
new after a fork, so a recorded result is never produced twice and never given to another branch.
"""

from headway_tools.journal.contract import CallStatus, Content, Entry, Journal, Ref
from headway_tools.journal.sqlite import MemoryJournal, SqliteJournal

__all__ = [
    "CallStatus",
    "Content",
    "Entry",
    "Journal",
    "MemoryJournal",
    "Ref",
    "SqliteJournal",
]
