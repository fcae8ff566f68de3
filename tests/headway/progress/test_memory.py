"""Properties of the detector for endless runs: bounded, plain, pure, deterministic."""

import copy
import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from progress_support import SAYS, bash, calm, change, edit, read, verdicts

from headway.progress import CallFact, ProgressSettings, Round, detect

_TEXT = st.one_of(
    st.sampled_from(
        ["x", "", "error: no f", "3 failed, 2 passed in 1s", "HTTP 503", "status: queued"]
    ),
    st.text(max_size=60),
)
_CALLS = st.builds(
    CallFact,
    name=st.sampled_from(["read_file", "bash", "edit", "think", "job"]),
    args=st.dictionaries(st.sampled_from(["path", "command", "q"]), _TEXT, max_size=3),
    observation=_TEXT,
    status=st.sampled_from(["success", "error"]),
    kind=st.sampled_from(["read", "write", "poll"]),
    neutral=st.booleans(),
    problem=st.sampled_from([None, None, None, "unknown_tool"]),
    counter=st.one_of(st.none(), st.floats()),
)
_ROUNDS = st.builds(
    Round,
    calls=st.lists(_CALLS, max_size=4).map(tuple),
    counter=st.one_of(st.none(), st.floats()),
    counter_source=st.sampled_from([None, "declared"]),
    changed=st.sampled_from([None, True, False]),
)


def size(memory: dict[str, Any]) -> int:
    return len(json.dumps(memory, ensure_ascii=False).encode())


@settings(deadline=None, max_examples=40)
@given(st.lists(_ROUNDS, max_size=20))
def test_memory_is_plain_bounded_and_survives_json(rounds: list[Round]) -> None:
    memory: dict[str, Any] = {}
    through_json: dict[str, Any] = {}
    for each in rounds:
        before = copy.deepcopy(memory)
        again, _ = detect(memory, each)
        assert memory == before
        memory, verdict = detect(memory, each)
        assert memory == again
        through_json, same = detect(json.loads(json.dumps(through_json)), each)
        assert (through_json, same) == (memory, verdict)
        assert size(memory) <= 1024
        json.dumps(verdict.evidence, allow_nan=False)


@pytest.mark.slow
@settings(deadline=None, max_examples=400)
@given(st.lists(_ROUNDS, max_size=60))
def test_memory_is_plain_bounded_and_survives_json_in_long(rounds: list[Round]) -> None:
    memory: dict[str, Any] = {}
    for each in rounds:
        memory, _ = detect(json.loads(json.dumps(memory, allow_nan=False)), each)
        assert size(memory) <= 1024


def test_a_full_memory_stays_within_a_kilobyte() -> None:
    memory: dict[str, Any] = {}
    for number in range(500):
        words = " ".join(f"word{number}x{n}" for n in range(30))
        calls = tuple(
            CallFact(f"tool{n}", {"q": words, "r": words, "s": words}, f"error: no {words}{n}")
            for n in range(5)
        )
        value = -number / 7
        memory, _ = detect(memory, Round(calls, counter=value, changed=number % 2 == 0))
    assert 500 < size(memory) <= 1024


def test_a_memory_of_another_version_starts_afresh() -> None:
    memory, verdict = detect({"v": 99, "score": 7}, calm(read("a", "x")))
    assert memory == detect({}, calm(read("a", "x")))[0]
    assert verdict.level == "go_on"


def test_a_fork_of_the_memory_goes_its_own_way() -> None:
    memory: dict[str, Any] = {}
    for _ in range(3):
        memory, _ = detect(memory, calm(read("a", "x")))
    _, stays = detect(memory, calm(read("a", "x")))
    _, leaves = detect(memory, calm(read("b", "y")))
    assert (stays.level, leaves.level) == ("stop", "go_on")


def test_the_evidence_names_the_call_how_often_and_what_it_brought() -> None:
    found = verdicts([calm(read("a.py", "x = 1"))] * 4)[-1]
    assert found.evidence["rule"] == "repeat"
    assert found.evidence["times"] == 4
    assert found.evidence["call"] == {"name": "read_file", "args": '"path": "a.py"'}
    assert "x = 1" in found.evidence["observation"]


def test_the_evidence_of_a_counter_shows_its_history() -> None:
    rounds = [
        each
        for n in range(4)
        for each in (
            change(edit("a.py", "x", f"y{n}")),
            calm(bash("pytest", "2 failed, 3 passed in 0.1s", 1)),
        )
    ]
    found = verdicts(rounds)[-1]
    assert (found.rule, found.evidence["counter"]) == ("counter", [2, 2, 2, 2])


@pytest.mark.parametrize(
    "rounds",
    [
        [calm(read("a.py", "x = 1"))] * 4,
        [SAYS] * 6,
        [calm(*[read("a.py", "x")] * 6)] * 2,
        [calm(CallFact("t", {"n": n}, "", "error", problem="unknown_tool")) for n in range(6)],
    ],
)
def test_the_advice_quotes_and_never_says_to_vary_the_arguments(rounds: list[Round]) -> None:
    told = next(v for v in verdicts(rounds) if v.level == "tell")
    assert told.advice.startswith("No progress: ")
    assert "vary" not in told.advice
    assert "different arguments" not in told.advice
    for quoted in (told.evidence.get("call", {}).get("name", ""), str(told.evidence["times"])):
        assert quoted in told.advice


def test_a_long_observation_is_quoted_in_short() -> None:
    found = verdicts([calm(read("a.py", "long " * 9000))] * 4)[-1]
    assert len(json.dumps(found.evidence)) < 1000
    assert len(found.advice) < 1000


def test_stop_below_tell_is_refused() -> None:
    with pytest.raises(ValueError, match="told before it is stopped"):
        ProgressSettings(tell=3.0, stop=2.0)


@pytest.mark.parametrize("wrong", [{"masks": (("(", "x"),)}, {"counters": (r"open: \d+",)}])
def test_a_pattern_that_cannot_work_is_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=r"regular expression|no group"):
        ProgressSettings(**wrong)
