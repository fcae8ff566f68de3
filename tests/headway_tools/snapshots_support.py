"""What the notes of a snapshot say."""

from headway_tools.snapshots import Note


def named(notes: list[Note]) -> dict[str, str]:
    return {note.path: note.reason for note in notes}
