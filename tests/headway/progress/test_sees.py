"""Each kind of standstill: told first, then stopped, within six rounds of its onset."""

from collections.abc import Sequence

import pytest
from progress_support import (
    SAYS,
    bash,
    blind,
    calm,
    change,
    edit,
    failed,
    levels,
    poll,
    read,
    rejected,
    search,
    think,
    verdicts,
)

from headway.progress import CallFact, ProgressSettings, Round

FAILING = "FAILED tests/test_a.py::test_a - assert 3 == 4\n1 failed, 4 passed in 0.0{}s"
QUERIES = (
    "author of the blue book",
    "blue book author",
    "who wrote the blue book",
    "the blue book, by whom",
    "name of the author of the blue book",
    "blue book written by",
)
DATABASE = ("list_tables", "run_query", "describe", "explain", "dump", "count_rows", "indexes")


def fresh(number: int) -> Round:
    return calm(read(f"part_{number}.py", f"class Part{number}: ..."))


def repair(numbers: range, output: str) -> list[Round]:
    """Edit, test, edit, test: every edit is new, the tests fail as before."""
    return [
        each
        for number in numbers
        for each in (
            change(edit("a.py", "x", f"y{number}")),
            calm(bash("pytest -q", output.format(number), 1)),
        )
    ]


# name → (rounds before it starts to go in circles, the circling rounds)
STUCK: dict[str, tuple[list[Round], list[Round]]] = {
    "the same call with the same result": (
        [calm(read("a.py", "x = 1"))],
        [calm(read("a.py", "x = 1"))] * 6,
    ),
    "the same failing call": (
        [calm(bash("make", "", 2, "error: f is not defined"))],
        [calm(bash("make", "", 2, "error: f is not defined"))] * 6,
    ),
    "arguments re-spelled": (
        [calm(bash("cat a.txt", "hello"))],
        [
            calm(bash(command, "hello"))
            for command in ("cat  a.txt", "cat ./a.txt", "cat 'a.txt'", "cat a.txt 2>&1")
            + ("cat a.txt # once more", 'cat "a.txt";')
        ],
    ),
    "only the time differs": (
        [calm(bash("make", "2026-11-30 17:00:00,000 error: no f\nelapsed 0.1s", 2))],
        [
            calm(bash("make", f"2026-11-30 17:0{n}:07,{n}01 error: no f\nelapsed {n}.5s", 2))
            for n in range(1, 7)
        ],
    ),
    "only the process id and a temporary path differ": (
        [calm(bash("run", "worker[4711]: cannot open /tmp/tmpab12/x (pid 4711)", 1))],
        [
            calm(bash("run", f"worker[{n}]: cannot open /tmp/tmp{n}zz/x (pid {n})", 1))
            for n in range(5000, 5006)
        ],
    ),
    "A-B-A-B": (
        [calm(read("a.py", "a")), calm(read("b.py", "b"))],
        [calm(read("a.py", "a")), calm(read("b.py", "b"))] * 3,
    ),
    "a cycle of twenty-five": (
        [calm(read(f"{n}.py", f"text {n}")) for n in range(25)],
        [calm(read(f"{n}.py", f"text {n}")) for n in range(6)],
    ),
    "A-B-A-B by tools that declare nothing, without a workspace": (
        [
            blind(CallFact("add", {"a": 1}, "2", kind="write")),
            blind(CallFact("sub", {"a": 1}, "0", kind="write")),
        ],
        [
            blind(CallFact("add", {"a": 1}, "2", kind="write")),
            blind(CallFact("sub", {"a": 1}, "0", kind="write")),
        ]
        * 3,
    ),
    "edits back and forth, the same failing test": (
        [change(edit("a.py", "x", "y")), calm(bash("pytest -q", FAILING.format(1), 1))],
        [
            change(edit("a.py", "y", "x")),
            calm(bash("pytest -q", FAILING.format(2), 1)),
            change(edit("a.py", "x", "y")),
            calm(bash("pytest -q", FAILING.format(3), 1)),
        ]
        * 2,
    ),
    "new edits, the tests fail as before": (
        repair(range(1), FAILING),
        repair(range(1, 4), FAILING),
    ),
    "new edits, a failing command without a count": (
        repair(range(1), "undefined reference to main, attempt in 0.{}s"),
        repair(range(1, 4), "undefined reference to main, attempt in 0.{}s"),
    ),
    "new edits, a check that fails without a word": (repair(range(1), ""), repair(range(1, 4), "")),
    "edit and test in one message": (
        [change(edit("a.py", "x", "y"), bash("pytest -q", FAILING.format(0), 1))],
        [
            change(edit("a.py", "x", f"y{n}"), bash("pytest -q", FAILING.format(n), 1))
            for n in range(1, 7)
        ],
    ),
    "a reworded search that finds nothing": (
        [calm(search("the blue book author name", "Could not find [the blue book author name]."))],
        [calm(search(query, f"Could not find [{query}].")) for query in QUERIES],
    ),
    "a reworded search with the same answer": (
        [calm(search("the blue book author name", "1 hit: The Blue Book (author unknown)"))],
        [calm(search(query, "1 hit: The Blue Book (author unknown)")) for query in QUERIES],
    ),
    "one error from many tools": (
        [calm(failed("connect", {"n": 0}, "tool_error", "the session 17 has expired"))],
        [
            calm(failed(name, {"n": number}, "tool_error", f"the session {number} has expired"))
            for number, name in enumerate(DATABASE[:6])
        ],
    ),
    "unknown tools for ever": (
        [calm(rejected("serch", {"q": 0}, "unknown_tool"))],
        [calm(rejected(f"serch{n}", {"q": n}, "unknown_tool")) for n in range(6)],
    ),
    "malformed calls for ever": (
        [calm(rejected("edit", {"text": "0"}, "invalid_arguments"))],
        [calm(rejected("edit", {"text": str(n)}, "invalid_arguments")) for n in range(6)],
    ),
    "monologue": ([SAYS], [SAYS] * 6),
    "six equal calls in one message": (
        [],
        [calm(*[read("a.py", "x = 1")] * 6)] * 6,
    ),
    "the same call, distractors between": (
        [calm(read("a.py", "x = 1"))],
        [
            calm(read("a.py", "x = 1")),
            calm(think("hm")),
            calm(read("a.py", "x = 1")),
            calm(think("well")),
            calm(read("a.py", "x = 1")),
            calm(read("a.py", "x = 1")),
        ],
    ),
    "the same call beside others in every message": (
        [calm(read("a.py", "x"), read("b.py", "y"))],
        [calm(read("b.py", "y"), read("a.py", "x"))] * 6,
    ),
}


@pytest.mark.parametrize("name", STUCK)
def test_a_standstill_is_told_and_then_stopped(name: str) -> None:
    before, circling = STUCK[name]
    found = levels([*before, *circling[:6]])
    assert found[: len(before)] == ["go_on"] * len(before)
    assert found[-1] == "stop"
    assert found.count("tell") == 1
    assert found.index("tell") < len(found) - 1


def test_a_pair_is_seen_among_news() -> None:
    rounds = [each for n in range(12) for each in (calm(read("log", "idle")), fresh(n))]
    assert levels(rounds)[-1] == "stop"


def test_polls_without_change_are_told_and_stopped_in_the_end() -> None:
    found = levels([calm(poll("status: queued"))] * 40)
    assert found.index("tell") in range(10, 16)
    assert found[-1] == "stop"


def test_a_state_that_waits_is_a_poll_though_the_tool_declares_nothing() -> None:
    found = levels([calm(search("job 7", "status: queued"))] * 10)
    assert found == ["go_on"] * 10


def test_an_outage_ends_too() -> None:
    rounds = [calm(search("x", "HTTP 503 Service Unavailable"))] * 20
    assert levels(rounds)[-1] == "stop"


@pytest.mark.parametrize("values", [(3, 3, 3), (5, 4, 4, 5), (3, 4, 5), (2.5, 2.5, 2.5)])
def test_a_declared_counter_gets_two_evaluations_without_a_new_minimum(
    values: Sequence[float],
) -> None:
    rounds = [
        change(CallFact("score", {"candidate": n}, f"scored {n}", counter=value))
        for n, value in enumerate(values)
    ]
    assert levels(rounds)[-2:] == ["tell", "stop"]


def test_a_counter_of_the_round_is_followed_like_a_tools() -> None:
    rounds = [
        Round((read(f"{n}", f"{n}"),), counter=4.0, counter_source="declared", changed=True)
        for n in range(3)
    ]
    found = verdicts(rounds)
    assert [verdict.level for verdict in found] == ["go_on", "tell", "stop"]
    assert found[-1].evidence["counter"] == [4.0, 4.0, 4.0]


def test_strict_needs_one_signal() -> None:
    rounds = [calm(read("a.py", "x")), calm(read("a.py", "x")), calm(read("a.py", "x"))]
    assert levels(rounds, ProgressSettings.preset("strict")) == ["go_on", "tell", "stop"]
