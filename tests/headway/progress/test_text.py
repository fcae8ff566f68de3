"""When two spellings mean the same: canonical calls, masked noise, stripped echoes."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headway.progress.failures import error_class
from headway.progress.text import canonical_call, fingerprint, mask_noise, strip_echo
from headway.progress.topic import reworded, sketch

SAME_CALL = (
    ({"a": 1, "b": 2}, {"b": 2, "a": 1}),
    ({"q": "blue  book "}, {"q": "blue book"}),
    ({"path": "./src/a.py"}, {"path": "src/a.py"}),
    ({"path": "src/"}, {"path": "src"}),
    ({"path": "."}, {}),
    ({"q": "x", "limit": None}, {"q": "x"}),
    ({"n": 5}, {"n": 5.0}),
    ({"command": "make 2>&1"}, {"command": " make"}),
    ({"command": "make # again"}, {"command": "make;"}),
    ({"command": "cat 'a b'"}, {"command": 'cat "a b"'}),
    ({"command": "make || true"}, {"command": "make"}),
    ({"expression": "1+1"}, {"expression": "1 + 1"}),
)
OTHER_CALL = (
    ({"q": "blue"}, {"q": "Blue"}),
    ({"command": "cut -d: -f1"}, {"command": "cut -d: -F1"}),
    ({"n": 0}, {}),
    ({"content": "if a:\n  b"}, {"content": "if a:\n b"}),
    ({"page": 1}, {"page": 2}),
)
NOISE = (
    ("at 2026-11-30T17:00:00Z done", "at 2026-12-01T08:15:59Z done"),
    ("Mon Nov 30 17:00:00 UTC 2026", "Tue Dec  1 08:15:59 UTC 2026"),
    ("[12:00:01] go", "[12:07:59] go"),
    ("5 passed in 0.03s", "5 passed in 1.20s"),
    ("took 3 minutes", "took 12 minutes"),
    ("object at 0x7f00aa10", "object at 0x7f00bb20"),
    ("job 0b7a7f3e-1111-4222-8333-abcdefabcdef", "job 1c8b803f-2222-4333-9444-fedcbafedcba"),
    ("in /tmp/tmpabc/x.py", "in /tmp/tmpxyz/x.py"),
    ("sshd[123]: closed", "sshd[98765]: closed"),
    ("pid 17", "pid 4711"),
    ("request_id: 12ab", "request_id: 77ff"),
    ("14.7 MiB/s", "3.2 MiB/s"),
    ('{"elapsed": 0.13}', '{"elapsed": 2.5}'),
    ("\x1b[31mred\x1b[0m", "red"),
)
SIGNAL = (
    ("running, 5% done", "running, 13% done"),
    ("3 failed, 10 passed", "3 failed, 11 passed"),
    ("row 10: a", "row 20: a"),
    ("line 7: no", "line 8: no"),
    ("version 1.2.3", "version 1.2.4"),
    ("d41d8cd98f00b204", "900150983cd24fb0"),
    ("9 errors", "8 errors"),
)


@pytest.mark.parametrize(("one", "other"), SAME_CALL)
def test_a_respelled_call_is_the_same(one: dict[str, object], other: dict[str, object]) -> None:
    assert canonical_call("tool", one) == canonical_call("Tool ", other)


@pytest.mark.parametrize(("one", "other"), OTHER_CALL)
def test_what_differs_in_meaning_differs(one: dict[str, object], other: dict[str, object]) -> None:
    assert canonical_call("tool", one) != canonical_call("tool", other)


def test_a_write_is_compared_to_the_letter_but_its_shell_command_is_not() -> None:
    quoted = {"new": "print('a')"}, {"new": 'print("a")'}
    assert canonical_call("edit", quoted[0]) == canonical_call("edit", quoted[1])
    assert canonical_call("edit", quoted[0], True) != canonical_call("edit", quoted[1], True)
    shell = {"command": "cat 'a'"}, {"command": "cat a"}
    assert canonical_call("bash", shell[0], True) == canonical_call("bash", shell[1], True)


@pytest.mark.parametrize(("one", "other"), NOISE)
def test_what_changes_by_itself_is_masked(one: str, other: str) -> None:
    assert mask_noise(one) == mask_noise(other)


@pytest.mark.parametrize(("one", "other"), SIGNAL)
def test_percentages_counts_and_contents_stay(one: str, other: str) -> None:
    assert mask_noise(one) != mask_noise(other)


def test_masks_of_ones_own() -> None:
    masks = ((r"build-\w+", "<build>"),)
    assert mask_noise("build-abc ok", masks) == mask_noise("build-xyz ok", masks)


_PIECES = st.sampled_from(
    [one for pair in (*NOISE, *SIGNAL) for one in pair]
    + ["\n", " ", ":", "<time>", "<id>", "0", "12", "pid", "/tmp/", "s", "2026-", "port=", "[7]:"]
)


@given(st.one_of(st.text(max_size=200), st.lists(_PIECES, max_size=8).map("".join)))
def test_masking_twice_is_masking_once(text: str) -> None:
    once = mask_noise(text)
    assert mask_noise(once) == once


def test_an_echoed_argument_is_stripped() -> None:
    one = strip_echo("Could not find [blue book].", {"q": "blue book"})
    other = strip_echo("Could not find [book, blue].", {"q": "book, blue"})
    assert one == other


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Table 'shop.cars' doesn't exist", "Table 'shop.autos' doesn't exist"),
        ("ls: cannot access /srv/a: No such file", "ls: cannot access /srv/b/c: No such file"),
        ("error in line 12", "error in line 40"),
        ("TypeError: f() takes 1 argument", "TypeError: f() takes 3 argument"),
    ],
)
def test_an_error_class_has_no_names_and_numbers(one: str, other: str) -> None:
    assert error_class(one, {}) == error_class(other, {})


def test_a_paraphrase_is_no_sweep() -> None:
    blue = sketch({"q": "author of the blue book"})
    assert reworded(blue, sketch({"q": "who wrote the blue book"}))
    assert not reworded(blue, sketch({"q": "population of Peru"}))
    one, two = ({"pattern": "TODO", "path": place} for place in ("lib", "src"))
    assert not reworded(sketch(one), sketch(two))
    assert not reworded(sketch({"c": "grep -rn TODO lib"}), sketch({"c": "grep -rn TODO src"}))


def test_noise_in_the_middle_of_a_long_result_does_not_make_it_new() -> None:
    def log(second: int) -> str:
        rows = (f"row {n} at 12:00:{second:02} in object 0x7f{second:02}aa" for n in range(400))
        return "start\n" + "\n".join(rows) + "\nend"

    assert fingerprint(log(1), {}, ()) == fingerprint(log(2), {}, ())
    assert fingerprint(log(1), {}, ()) != fingerprint(log(1).replace("row", "line"), {}, ())
