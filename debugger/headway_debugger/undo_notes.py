"""`undo.json` of a thread: which folders were put where, so that `undo` finds the way back."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Final, Literal

from headway.state import Gap
from headway_tools.errors import HeadwayError
from headway_tools.home import ThreadFolder
from headway_tools.notes import read_note, write_note

_VERSION: Final = 1


@dataclass(frozen=True)
class Put:
    """A folder that was brought to the snapshot `after`."""

    root: str
    before: str
    after: str
    branch: str
    """The branch that was the current one before."""
    at: str
    """The checkpoint at which the current branch then stood: only there it can be undone."""
    verb: Literal["restore", "apply"] = "restore"


@dataclass(frozen=True)
class Theirs:
    """What others changed in a folder, which a verb left as it was."""

    at: str
    """The checkpoint at the tip of the branch at work there; it holds until that moves on."""
    gaps: Sequence[Gap]
    """Since the gaps that the checkpoint itself names."""


@dataclass(frozen=True)
class Undo:
    """What can be undone, the newest last, and what was put where."""

    puts: Sequence[Put] = ()
    seen: Mapping[str, str] = field(default_factory=dict)
    """The snapshot that each folder was last brought to."""
    forks: Mapping[str, str] = field(default_factory=dict)
    """The branch that was the current one before a fork, by the name of the fork."""
    under_way: str = ""
    """A folder that is being brought somewhere; after a kill it is as nobody left it."""
    theirs: Mapping[str, Theirs] = field(default_factory=dict)
    """By folder."""

    def theirs_at(self, root: Path, tip: str) -> Sequence[Gap]:
        """What others changed in `root` since the gaps that the checkpoint `tip` names."""
        theirs = self.theirs.get(str(root))
        return theirs.gaps if theirs and theirs.at == tip else ()

    def snapshots(self) -> set[str]:
        """Ids of all snapshots that are named here."""
        gaps = [gap for theirs in self.theirs.values() for gap in theirs.gaps]
        return {
            *self.seen.values(),
            *(state for put in self.puts for state in (put.before, put.after)),
            *(state for gap in gaps for state in (gap["left"], gap["found"])),
        }


def load_undo(folder: ThreadFolder) -> Undo:
    """What can be undone; `HeadwayError`: damaged or newer."""
    path = folder.path / "undo.json"
    text = read_note(path)
    if text is None:
        return Undo()
    try:
        stored = json.loads(text)
        if stored["version"] > _VERSION:
            raise HeadwayError(f"{path} was written by a newer headway: update headway")
        puts = [Put(**put) for put in stored["puts"]]
        forks, under_way = dict(stored.get("forks", {})), str(stored.get("under_way", ""))
        theirs = {root: Theirs(**told) for root, told in stored.get("theirs", {}).items()}
        return Undo(puts, dict(stored["seen"]), forks, under_way, theirs)
    except (ValueError, TypeError, KeyError) as error:
        raise HeadwayError(f"cannot read {path}: {error!r}; remove it to go on") from error


def save_undo(folder: ThreadFolder, undo: Undo) -> None:
    """Replace what can be undone."""
    stored = {
        "version": _VERSION,
        "puts": [asdict(put) for put in undo.puts],
        "seen": dict(undo.seen),
        "forks": dict(undo.forks),
        "under_way": undo.under_way,
        "theirs": {root: asdict(theirs) for root, theirs in undo.theirs.items()},
    }
    write_note(folder.path / "undo.json", json.dumps(stored))
