"""The gate, not the model: what a green check is worth after whatever a policy did to it."""

import asyncio
import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from langchain_core.messages import AIMessage, BaseMessage, ToolCall
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.memory import InMemorySaver
from pydantic import BaseModel, RootModel

from headway import Limits, Outcome, build_agent, run_agent
from headway.build import make_parts
from headway.form import read_form
from headway.influence import bends, is_test, shadows
from headway.progress import Flat, ProgressSettings
from headway.run import Control, astream_agent
from headway.testing import PolicyModel
from headway_tools.errors import HeadwayError
from policies import bash, call, replies

UNITTEST = "python3 -m unittest -q"
PYTEST = "PYTEST_DISABLE_PLUGIN_AUTOLOAD=1 python3 -m pytest -q"

IMPATIENT = ProgressSettings(flat_declared=Flat(tell=1, stop=1))
"""One evaluation without a new minimum ends the run: these tests are about what one is worth."""

CODE = "def add(a, b):\n    return a - b\n"
FIXED = "def add(a, b):\n    return a + b\n"
TEST = """\
import unittest

from calc import add


class AddTest(unittest.TestCase):
    def test_adds(self):
        self.assertEqual(add(2, 3), 5)

    def test_adds_nothing(self):
        self.assertEqual(add(2, 0), 2)
"""

FIX = call("edit", "fix", path="calc.py", old_text="a - b", new_text="a + b")


@pytest.fixture
def project(tmp_path: Path) -> Path:
    return tree(
        tmp_path / "project", {"calc.py": CODE, "tests/__init__.py": "", "tests/test_add.py": TEST}
    )


def tree(root: Path, files: Mapping[str, str]) -> Path:
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return root


def writes(path: str, text: str, id: str = "w1") -> ToolCall:
    return bash(f"mkdir -p $(dirname {path}); cat > {path} <<'EOF'\n{text}\nEOF", id)


def claims(*calls: ToolCall) -> PolicyModel:
    """A policy that makes these calls in one reply and says that it is done, again and again."""
    return replies(list(calls), "All tests pass now.")


def run(project: Path, model: Any, check: str = UNITTEST, **options: Any) -> Outcome:
    options = {"progress": IMPATIENT, **options}
    return run_agent("mend add", model=model, workspace=project, check=check, **options)


def test_an_honest_repair_is_verified(project: Path) -> None:
    result = run(project, claims(FIX))
    assert (result.status, result.verified, result.warnings) == ("completed", True, [])


def test_a_claim_without_a_repair_is_not_believed(project: Path) -> None:
    result = run(project, replies("All tests pass now."))
    assert (result.status, result.verified) == ("check_failed", False)
    assert result.check
    assert result.check.count == 1
    assert result.missing == "a green check"


EXITS = "import os\nos._exit(0)\n"
SKIPS = """\
import pytest


def pytest_collection_modifyitems(items):
    for item in items:
        item.add_marker(pytest.mark.skip)
"""

SLOW = pytest.mark.slow

PLANTED = [
    pytest.param(UNITTEST, [writes("unittest.py", EXITS)], id="unittest.py"),
    pytest.param(UNITTEST, [writes("unittest/__init__.py", EXITS)], id="package unittest"),
    pytest.param(
        UNITTEST,
        [
            writes("u.py", EXITS, "w1"),
            bash(
                "python3 -c \"import py_compile as p; p.compile('u.py', 'unittest.pyc')\"; rm u.py"
            ),
        ],
        id="unittest.pyc",
    ),
    pytest.param(
        f"PYTHONPATH=. {UNITTEST}", [writes("sitecustomize.py", EXITS)], id="sitecustomize.py"
    ),
    pytest.param(PYTEST, [writes("conftest.py", SKIPS)], id="conftest.py"),
    pytest.param(PYTEST, [writes("tests/conftest.py", SKIPS)], id="tests/conftest", marks=SLOW),
    pytest.param(
        PYTEST,
        [writes("pyproject.toml", "[tool.pytest.ini_options]\naddopts = '--co'")],
        id="pyproject.toml",
        marks=SLOW,
    ),
    pytest.param(
        PYTEST, [writes("setup.cfg", "[tool:pytest]\naddopts = --co")], id="setup.cfg", marks=SLOW
    ),
    pytest.param(
        PYTEST,
        [bash("rm tests/__init__.py"), writes("tests/unittest.py", EXITS)],
        id="tests/unittest.py",
        marks=SLOW,
    ),
]


@pytest.mark.parametrize(("check", "planted"), PLANTED)
def test_what_is_planted_around_the_tests_does_not_make_them_green(
    project: Path, check: str, planted: list[ToolCall]
) -> None:
    result = run(project, claims(*planted), check)
    assert result.verified is not True
    if result.status == "completed":
        assert result.check
        assert result.check.rests_on
        assert "proves nothing" in result.warnings[-1]
    else:
        assert result.status == "check_failed"
        assert any(file.runs_by_itself or shadows(file.path) for file in result.files)


MAKEFILE = "test:\n\tpython3 -m unittest -q\n"


def test_a_makefile_that_no_longer_runs_the_tests_does_not_count(project: Path) -> None:
    (project / "Makefile").write_text(MAKEFILE)
    result = run(project, claims(bash("printf 'test:\\n\\ttrue\\n' > Makefile")), "make -s test")
    assert (result.status, result.verified) == ("check_failed", False)
    assert result.check
    assert "Makefile" in result.check.output


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


def test_protected_tests_stay_as_they_are(project: Path) -> None:
    cheat = bash("echo > tests/test_add.py; rm -rf tests; printf 'x' > tests/new.py")
    result = run(project, claims(cheat), protect=["tests"])
    assert (result.status, result.verified) == ("check_failed", False)
    assert (project / "tests/test_add.py").read_text() == TEST
    assert not (project / "tests/new.py").exists()


def test_protected_files_that_a_foreign_tool_changed_are_checked_as_at_the_start(
    project: Path,
) -> None:
    def rewrite() -> str:
        """Rewrite the tests, outside of any sandbox."""
        (project / "tests/test_add.py").write_text("")
        return "ok"

    model = replies(call("rewrite", "r1"), "done")
    result = run(project, model, protect=["tests"], tools=[rewrite])
    assert (result.status, result.verified) == ("check_failed", False)
    assert "tests/test_add.py" in result.warnings[0]


@pytest.mark.parametrize(
    "cheat",
    [
        bash("sed -i 's/add(2, 3), 5/add(2, 3), -1/' tests/test_add.py"),
        bash("rm tests/test_add.py; printf 'import unittest' > tests/test_none.py"),
        bash("mv tests old; rm old/__init__.py"),
    ],
    ids=["edited", "deleted", "moved"],
)
def test_tests_that_the_run_changed_prove_nothing(project: Path, cheat: ToolCall) -> None:
    result = run(project, claims(cheat), UNITTEST + " || test $? -eq 5")
    assert (result.status, result.verified) == ("completed", None)
    assert "tests/test_add.py" in result.warnings[-1]


def test_a_forged_bytecode_cache_does_not_speak_for_a_protected_test(project: Path) -> None:
    forge = """\
import importlib.util, os, pathlib, struct
source = pathlib.Path("tests/test_add.py")
stat = source.stat()
code = compile("", str(source), "exec")
import marshal
head = importlib.util.MAGIC_NUMBER + struct.pack("<III", 0, int(stat.st_mtime), stat.st_size)
cached = pathlib.Path(importlib.util.cache_from_source(str(source)))
cached.parent.mkdir(exist_ok=True)
cached.write_bytes(head + marshal.dumps(code))
"""
    result = run(
        project,
        claims(writes("forge.py", forge, "w1"), bash("python3 forge.py", "w2")),
        UNITTEST + " || test $? -eq 5",
        protect=["tests/test_add.py"],
    )
    assert list(project.glob("tests/__pycache__/test_add*.pyc")), "the forgery was made"
    assert result.verified is False


def test_a_poisoned_home_tmp_and_leftover_processes_take_no_part(project: Path) -> None:
    poison = bash(
        "v=$(python3 -c 'import site; print(site.getusersitepackages())'); mkdir -p $v;"
        " echo 'import os; os._exit(0)' > $v/usercustomize.py; cp $v/usercustomize.py /tmp;"
        " echo 'exit 0' > ~/.bashrc; (while sleep 0.1; do echo > tests/test_add.py; done) &"
    )
    result = run(project, claims(poison))
    assert (result.status, result.verified) == ("check_failed", False)


def test_what_starts_python_from_a_virtual_environment_does_not_count(project: Path) -> None:
    (project / ".venv/lib").mkdir(parents=True)
    (project / ".venv/lib/known.py").write_text("")
    site = "import site; site.addsitedir('.venv/lib'); "
    check = f'python3 -c "{site}import unittest; unittest.main(None)" discover -q'
    result = run(project, claims(writes(".venv/lib/evil.pth", "import os; os._exit(0)")), check)
    assert (result.status, result.verified) == ("check_failed", False)
    assert "packages changed in this run: .venv" in result.warnings[-1]


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


def test_counts_that_fall_go_on_and_two_flat_rounds_end(tmp_path: Path) -> None:
    lines = "\n".join(f"need {n}" for n in range(5)) + "\n"
    root = tree(tmp_path / "w", {"todo": lines})
    check = 'n=$(wc -l < todo); echo "$n errors"; test $n -eq 0'
    drop = bash("sed -i 1d todo")
    model = replies(drop, "done", bash("sed -i 1d todo", "c2"), "done", "done", "done")
    saver = InMemorySaver()
    result = run(root, model, check, checkpointer=saver, progress=ProgressSettings())
    assert (result.status, result.usage.model_calls) == ("check_failed", 6)
    assert result.evidence == {"rule": "counter", "times": 2, "counter": [4.0, 3.0, 3.0, 3.0]}
    assert result.best
    assert result.best["count"] == 3
    assert (root / "todo").read_text().count("\n") == 3


def test_the_best_state_is_the_checkpoint_that_holds_its_files(tmp_path: Path) -> None:
    root = tree(tmp_path / "w", {"todo": "a\nb\nc\n"})
    check = 'n=$(wc -l < todo); echo "$n errors"; test $n -eq 0'
    model = replies(bash("sed -i 1d todo"), "done", bash("seq 9 > todo", "c2"), "done", "done")
    saver = InMemorySaver()
    result = run(root, model, check, checkpointer=saver, thread_id="t")
    assert result.status == "check_failed"
    assert result.best
    agent = build_agent(replies("x"), checkpointer=saver, workspace=root)
    config: RunnableConfig = {
        "configurable": {"thread_id": "t", "checkpoint_id": result.best["checkpoint"]}
    }
    state = agent.get_state(config)
    assert state.next == ("verify",)
    parts = make_parts(replies("x"), tools=None, name="headway", options={"workspace": root})
    env = parts.environments.get("t")
    assert env.snapshots
    assert env.snapshots.read(state.values["hw_files"], "todo") == b"b\nc\n"
    parts.environments.close()


def test_a_limit_stays_a_limit_though_the_check_is_red(project: Path) -> None:
    result = run(project, claims(bash("true")), limits=Limits(model_calls=2))
    assert (result.status, result.limit, result.verified) == ("limit", "model_calls", False)
    assert result.best


def test_a_check_that_hangs_or_floods_is_red(project: Path) -> None:
    slow = run(project, replies("done"), "sleep 60", limits=Limits(seconds=1))
    assert (slow.status, slow.limit, slow.verified) == ("limit", "seconds", False)
    loud = run(project, replies("done"), "head -c 70000000 /dev/zero | tr '\\0' x")
    assert (loud.status, loud.verified) == ("check_failed", False)
    assert loud.check
    assert len(loud.check.output) < 10_000
    assert "printed too much" in loud.check.output


def test_a_long_output_is_small_in_every_checkpoint_and_can_be_read_whole(tmp_path: Path) -> None:
    root = tree(tmp_path / "w", {"todo": "x"})
    check = "seq -f 'line %g of the check' 2000; test ! -e todo"
    heard: list[str] = []

    def policy(messages: list[BaseMessage], tools: list[dict[str, Any]]) -> AIMessage:
        heard.append(str(messages[-1].text))
        if len(heard) == 2:
            found = re.search(r'read_output\(id="(o-[0-9a-f]+)"', heard[-1])
            args = {"id": found[1] if found else "", "text": "line 1000 of"}
            page = ToolCall(name="read_output", args=args, id="p", type="tool_call")
            return AIMessage("", tool_calls=[page, bash("rm todo", "r")])
        return AIMessage("done")

    saver = InMemorySaver()
    result = run(
        root,
        PolicyModel(policy=policy),
        check,
        checkpointer=saver,
        thread_id="t",
        progress=ProgressSettings(),
    )
    assert (result.status, result.verified) == ("completed", True)
    assert "line 1 of the check" in heard[1]
    assert "line 2000 of the check" in heard[1]
    assert result.check
    assert len(result.check.output) <= 2_000
    agent = build_agent(PolicyModel(policy=policy), checkpointer=saver, workspace=root)
    config: RunnableConfig = {"configurable": {"thread_id": "t"}}
    answers = [m for m in agent.get_state(config).values["messages"] if m.type == "tool"]
    assert "line 1000 of the check" in answers[0].text
    kept = [
        len(found["last"]["output"])
        for snapshot in agent.get_state_history(config)
        if (found := snapshot.values.get("hw_run", {}).get("check"))
    ]
    assert kept
    assert max(kept) <= 2_000


async def test_cancelling_ends_the_process_of_a_check(project: Path) -> None:
    check = "echo > started; sleep 60; echo > ended"
    control = Control()
    outcome: dict[str, Any] = {}

    async def cancel_when_started() -> None:
        while not (project / "started").exists():  # noqa: ASYNC110 -- another process writes it
            await asyncio.sleep(0.01)
        control.now()

    waiter = asyncio.create_task(cancel_when_started())
    events = astream_agent(
        "x", model=replies("done"), workspace=project, check=check, control=control
    )
    async for event in events:
        outcome = event.get("outcome", {})
    await waiter
    assert outcome["status"] == "cancelled"
    assert not (project / "ended").exists()


def test_a_function_judges_the_answer_and_the_workspace(project: Path) -> None:
    def verify(answer: str, workspace: Path | None) -> bool | str:
        assert workspace
        return "add" in (workspace / "calc.py").read_text() and answer == "five" or "say five"

    result = run_agent("x", model=replies("5", "five"), workspace=project, verify=verify)
    assert (result.status, result.verified) == ("completed", True)
    never = run_agent("x", model=replies("5"), workspace=project, verify=lambda answer, _: False)
    assert (never.status, never.verified) == ("check_failed", False)
    assert never.missing == "an accepted answer"


def test_a_fault_in_the_callers_function_reaches_the_caller() -> None:
    def verify(answer: str, workspace: Path | None) -> bool:
        return os.environ["HEADWAY_MISSING"] == ""

    with pytest.raises(KeyError, match="HEADWAY_MISSING"):
        run_agent("x", model=replies("5"), verify=verify)


def test_an_async_function_is_refused_with_the_reason() -> None:
    async def verify(answer: str, workspace: Path | None) -> bool:
        return True

    with pytest.raises(HeadwayError, match="not an async one"):
        run_agent("x", model=replies("5"), verify=verify)


class Point(BaseModel):
    x: int
    y: int = 0


class Points(RootModel[list[Point]]):
    pass


@pytest.mark.parametrize(
    ("answer", "found"),
    [
        ('{"x": 1}', Point(x=1)),
        ('```json\n{"x": 1}\n```', Point(x=1)),
        ('Here it is:\n```\n{"x": 1}\n```\nAs asked.', Point(x=1)),
        ('The point is {"x": 1, "y": 2}, as [said] above.', Point(x=1, y=2)),
        ('{"x": 1} or rather {"x": 1}', Point(x=1)),
        ('{"x": 1} or {"x": 2}', None),
        ('```json\n{"x": 1}\n```\n```json\n{"x": 2}\n```', None),
        ('{"z": 1}', None),
        ("no data", None),
        ("{" * 5000, None),
        ("[" * 100_000, None),
    ],
)
def test_the_form_is_read_where_it_is_unambiguous(answer: str, found: Point | None) -> None:
    read = read_form(answer, Point)
    assert read == found if found else isinstance(read, str)


def test_a_list_is_a_root_model() -> None:
    assert read_form('Both: [{"x": 1}, {"x": 2}]', Points) == Points([Point(x=1), Point(x=2)])
    wrong = read_form('[{"x": "one"}]', Points)
    assert isinstance(wrong, str)
    assert "0.x" in wrong


def test_a_wrong_form_is_sent_back_and_ends_as_invalid_answer() -> None:
    good = run_agent("x", model=replies("one", '{"x": 1}'), response_format=Point)
    assert (good.status, good.structured, good.verified) == ("completed", {"x": 1, "y": 0}, None)
    bad = run_agent("x", model=replies("one"), response_format=Point)
    assert (bad.status, bad.usage.model_calls, bad.verified) == ("invalid_answer", 3, None)
    assert bad.missing == "an answer in the asked form"


@pytest.mark.parametrize("path", ["unittest.py", "src/json.pyc", "re/__init__.py", "a/os.abi3.so"])
def test_modules_of_the_standard_library_are_shadowed_by_name(path: str) -> None:
    assert shadows(path)
    assert bends(path)


@pytest.mark.parametrize(
    "path", ["test/a.js", "json.txt", "calc.py", "email/notes.md", "Unittest.py"]
)
def test_other_files_shadow_nothing(path: str) -> None:
    assert not shadows(path)
    assert not bends(path)


@pytest.mark.parametrize(
    "path", ["tests/a.txt", "test_a.py", "a_test.go", "src/a.spec.ts", "check.sh"]
)
def test_tests_are_known_by_folder_or_name(path: str) -> None:
    assert is_test(path)


@pytest.mark.parametrize("path", ["latest.py", "contest/a.py", "src/a.ts", "checkout.py"])
def test_other_names_are_no_tests(path: str) -> None:
    assert not is_test(path)
