from collections.abc import Mapping

from hypothesis import given
from hypothesis import strategies as st

from headway_tools.snapshots.compare import EMPTY, compare
from headway_tools.snapshots.entries import (
    Entry,
    Note,
    decode_folder,
    decode_notes,
    decode_snapshot,
    decode_times,
    digest,
    display,
    encode_folder,
    encode_notes,
    encode_snapshot,
    encode_times,
    raw_path,
)
from headway_tools.snapshots.stats import FolderStats, decode_stats, encode_stats

names = st.binary(min_size=1, max_size=12).map(
    lambda name: name.replace(b"/", b"-").replace(b"\0", b"-")
)
xattrs = st.lists(st.tuples(st.binary(max_size=5), st.binary(max_size=300)), max_size=2).map(tuple)
entries = st.builds(
    Entry,
    st.sampled_from(["file", "folder", "link", "fifo", "unkept"]),
    st.integers(0, 0o7777),
    st.binary(max_size=40),
    st.integers(0, 1 << 40),
    xattrs,
    st.just(0),
)
folders = st.dictionaries(names, entries, max_size=6)
paths = st.lists(names, min_size=1, max_size=4).map(b"/".join)
groups = st.lists(st.lists(paths, min_size=2, max_size=3).map(tuple), max_size=3).map(tuple)

Tree = dict[bytes, "bytes | Tree"]
trees = st.recursive(
    st.binary(max_size=2), lambda below: st.dictionaries(names, below, max_size=4), max_leaves=12
).map(lambda tree: tree if isinstance(tree, dict) else {b"file": tree})


@given(folders)
def test_a_folder_is_what_it_was_encoded_from(folder: dict[bytes, Entry]) -> None:
    assert decode_folder(encode_folder(folder)) == folder


@given(entries, groups)
def test_a_snapshot_is_what_it_was_encoded_from(
    root: Entry, links: tuple[tuple[bytes, ...], ...]
) -> None:
    assert decode_snapshot(encode_snapshot(root, links)) == (root, links)


@given(st.lists(st.builds(Note, paths, st.just("excluded"), st.integers(0, 1 << 40)), max_size=4))
def test_notes_are_what_they_were_encoded_from(notes: list[Note]) -> None:
    assert decode_notes(encode_notes(notes)) == notes


@given(folders, st.integers(-(1 << 62), 1 << 62))
def test_times_and_stamps_are_what_they_were_encoded_from(
    folder: dict[bytes, Entry], time: int
) -> None:
    timed = {name: entry._replace(mtime_ns=time) for name, entry in folder.items()}
    assert decode_times(encode_times(timed)) == (time,) * len(timed)
    files = {name: ((time, -1, 3, 1 << 60, 0o100644), entry) for name, entry in timed.items()}
    assert decode_stats(encode_stats(files)) == FolderStats(files)


@given(st.binary(max_size=30))
def test_every_name_can_be_shown(name: bytes) -> None:
    assert display(name).encode().decode() == display(name)


def test_a_path_is_taken_as_text_or_bytes() -> None:
    assert raw_path("./a//b/") == b"a/b"
    assert raw_path("\udcff") == b"\xff"


@given(trees, trees)
def test_the_changes_turn_one_tree_into_the_other(before: Tree, after: Tree) -> None:
    store: dict[bytes, Mapping[bytes, Entry]] = {}
    a, b = kept(before, store), kept(after, store)
    changes = compare(store.__getitem__, a, b)
    state = flat(before)
    for change in changes:
        assert state.get(change.raw) == (change.before and change.before.id)
        if change.after is None:
            del state[change.raw]
        else:
            state[change.raw] = change.after.id
    assert state.keys() == flat(after).keys()
    assert contents(state, after) == contents(flat(after), after)
    assert (changes == []) == (before == after)
    assert {change.raw for change in compare(store.__getitem__, EMPTY, b)} - {b""} == set(
        flat(after)
    )


def kept(tree: Tree, store: dict[bytes, Mapping[bytes, Entry]]) -> Entry:
    folder = {
        name: kept(below, store) if isinstance(below, dict) else Entry("file", 0o644, below)
        for name, below in tree.items()
    }
    key = digest(encode_folder(folder))
    store[key] = folder
    return Entry("folder", 0o700, key)


def flat(tree: Tree, prefix: bytes = b"") -> dict[bytes, bytes]:
    found: dict[bytes, bytes] = {}
    for name, below in tree.items():
        if isinstance(below, dict):
            found[prefix + name] = kept(below, {}).id
            found |= flat(below, prefix + name + b"/")
        else:
            found[prefix + name] = below
    return found


def contents(state: dict[bytes, bytes], tree: Tree) -> dict[bytes, bytes]:
    """The files only: a folder's id follows from what is in it and is no change of its own."""
    files = {path for path, entry in flat(tree).items() if len(entry) < 20}
    return {path: state[path] for path in files}
