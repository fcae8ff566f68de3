"""Carrying out a plan in a folder: deletions, folders, files and links, then modes.

Every file is put in place by one rename. Killed anywhere, the same restore again completes it:
what is done already is no longer part of the next plan.
"""

import errno
from collections.abc import Callable, Iterable, Iterator

from headway_tools.snapshots.compare import in_groups
from headway_tools.snapshots.entries import Change, Entry, Groups, Note
from headway_tools.snapshots.writer import TreeWriter

Content = Callable[[bytes], Iterator[bytes]]
"""The parts of a file's content, by its id."""
Target = Callable[[bytes], Entry | None]
"""The target's entry at a path."""

_FATAL = frozenset(
    (errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EIO, errno.EMFILE, errno.ENFILE, errno.EFBIG)
)


class Apply:
    """One run over one folder. `notes` names the paths that the system refused to change.

    In a `fresh` folder files and folders get their times of change, too.
    """

    def __init__(
        self, writer: TreeWriter, content: Content, target: Target, groups: Groups, *, fresh: bool
    ) -> None:
        self._writer = writer
        self._content = content
        self._target = target
        self._groups = in_groups(groups)
        self._fresh = fresh
        self._first: dict[tuple[bytes, ...], bytes] = {}
        self.notes: list[Note] = []

    def put(self, changes: list[Change]) -> None:
        """Everything but the modes of folders and of files that have the right content."""
        for change in reversed(changes):
            if change.after is None or _replaces_folder(change):
                self._attempt(change.raw, self._delete, change)
        for change in changes:
            if change.after is not None and change.kind != "mode":
                self._attempt(change.raw, self._put, change.raw, change.after)

    def finish(self, changes: list[Change]) -> None:
        folders = self._finished_folders(changes)
        for change in changes:
            if change.kind == "mode" and change.raw not in folders and change.after is not None:
                self._attempt(change.raw, self._set_mode, change.raw, change.after)
        for path in sorted(folders, key=_depth, reverse=True):
            self._attempt(path, self._finish_folder, path, folders[path])

    def _attempt(self, path: bytes, do: Callable[..., None], *arguments: object) -> None:
        try:
            do(*arguments)
        except OSError as error:
            if error.errno in _FATAL:
                raise
            self.notes.append(Note(path, "blocked"))

    def _delete(self, change: Change) -> None:
        if change.before is None or change.before.kind != "folder":
            self._writer.delete_file(change.raw)
        elif not self._writer.delete_folder(change.raw):
            self.notes.append(Note(change.raw, "not_empty"))

    def _put(self, path: bytes, entry: Entry) -> None:
        if entry.kind == "folder":
            self._writer.make_folder(path)
        elif entry.kind == "link":
            self._writer.symlink(path, entry.id)
        elif entry.kind == "fifo":
            self._writer.fifo(path, entry.mode)
        elif entry.kind == "file":
            self._file(path, entry)

    def _file(self, path: bytes, entry: Entry) -> None:
        group = self._groups.get(path)
        first = self._first.get(group) if group else None
        if first is not None:
            self._writer.hard_link(path, first)
            return
        parts = self._content(entry.id)
        mtime_ns = entry.mtime_ns if self._fresh else None
        self._writer.write(path, parts, entry.mode, entry.xattrs, mtime_ns)
        if group:
            self._first[group] = path
        if not self._fresh:
            self._writer.delete_bytecode(path)

    def _finished_folders(self, changes: Iterable[Change]) -> dict[bytes, Entry]:
        """Folders whose mode is to be set last: those of the plan and those opened up."""
        paths = {change.raw for change in changes if _is_folder(change.after)}
        found = {path: self._target(path) for path in paths | self._writer.opened_up}
        return {path: entry for path, entry in found.items() if _is_folder(entry) and entry}

    def _set_mode(self, path: bytes, entry: Entry) -> None:
        self._writer.set_attributes(path, entry.mode, entry.xattrs)

    def _finish_folder(self, path: bytes, entry: Entry) -> None:
        if self._fresh and path:
            self._writer.set_time(path, entry.mtime_ns)
        self._set_mode(path, entry)


def _is_folder(entry: Entry | None) -> bool:
    return entry is not None and entry.kind == "folder"


def _replaces_folder(change: Change) -> bool:
    return _is_folder(change.before) and not _is_folder(change.after)


def _depth(path: bytes) -> int:
    return path.count(b"/") + 1 if path else 0
