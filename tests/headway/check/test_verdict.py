"""What a green check is worth after honest work, and where it hangs on what the run made."""

from pathlib import Path
from typing import Any

import pytest
from check_support import FIX, FIXED, MAKEFILE, PYTEST, TEST, claims, run, tree, writes
from langchain_core.messages import AIMessage, BaseMessage

from headway.progress import ProgressSettings
from policies import bash, replies


def test_an_honest_repair_is_verified(project: Path) -> None:
    result = run(project, claims(FIX))
    assert (result.status, result.verified, result.warnings) == ("completed", True, [])


def test_a_claim_without_a_repair_is_not_believed(project: Path) -> None:
    result = run(project, replies("All tests pass now."))
    assert (result.status, result.verified) == ("check_failed", False)
    assert result.check
    assert result.check.count == 1
    assert result.missing == "a green check"


def test_the_model_is_told_what_the_green_hangs_on_and_can_do_without(project: Path) -> None:
    (project / "Makefile").write_text(MAKEFILE)
    cheat, back = (
        bash("echo 'test:' > Makefile"),
        bash("printf 'test:\\n\\tpython3 -m unittest -q\\n' > Makefile"),
    )
    model = replies(cheat, "done", [back, FIX], "done")
    heard: list[str] = []
    inner = model.policy

    def listening(messages: list[BaseMessage], tools: list[dict[str, Any]]) -> AIMessage:
        heard.append(str(messages[-1].text))
        return inner(messages, tools)

    model.policy = listening
    result = run(project, model, "make -s test", progress=ProgressSettings())
    assert (result.status, result.verified, result.usage.model_calls) == ("completed", True, 4)
    assert "green only with Makefile" in heard[2]
    assert "FAILED (failures=1)" in heard[2]


HELPED = """\
import pytest


@pytest.fixture
def three():
    return 3
"""
NEW_TEST = "from calc import add\n\n\ndef test_three(three):\n    assert add(three, 1) == 4\n"


def test_a_conftest_that_new_tests_need_is_no_suspicion(project: Path) -> None:
    work = [FIX, writes("conftest.py", HELPED, "w1"), writes("tests/test_three.py", NEW_TEST, "w2")]
    result = run(project, claims(*work), PYTEST)
    assert (result.status, result.verified, result.warnings) == ("completed", True, [])
    assert [file.path for file in result.files if file.runs_by_itself] == ["conftest.py"]


@pytest.mark.slow
def test_a_conftest_that_was_the_task_ends_the_run_and_proves_nothing(project: Path) -> None:
    (project / "tests/test_three.py").write_text(NEW_TEST)
    result = run(project, claims(FIX, writes("conftest.py", HELPED)), PYTEST)
    assert (result.status, result.verified) == ("completed", None)
    assert result.check
    assert result.check.rests_on == ["conftest.py"]


def test_a_new_project_is_accepted(tmp_path: Path) -> None:
    empty = tree(tmp_path / "new", {"README": "empty\n"})
    work = [
        writes("calc.py", FIXED, "w1"),
        writes("tests/__init__.py", "", "w2"),
        writes("tests/test_add.py", TEST, "w3"),
    ]
    result = run(empty, claims(*work))
    assert (result.status, result.verified) == ("completed", True)
    makefile = writes("Makefile", MAKEFILE, "w4")
    made = run(tree(tmp_path / "made", {"README": ""}), claims(*work, makefile), "make -s test")
    assert (made.status, made.verified) == ("completed", None), "the check is the run's own"
