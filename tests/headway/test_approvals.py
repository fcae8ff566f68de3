"""Who is asked about what, and that an answer which does not fit decides nothing."""

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from langchain.agents.middleware.human_in_the_loop import HITLRequest, HITLResponse
from pydantic import TypeAdapter

from headway.approvals import Rules, allows, check_rules, must_ask, question, read_answer
from headway.build import workspace_tools
from headway_tools.errors import HeadwayError
from headway_tools.workspace import Workspace
from policies import bash, call

CALLS = [bash("ls", "c1"), call("ask_user", "c2", question="which?")]
TOOLS = {tool.name: tool for tool in workspace_tools(interactive=True)}
YES, SAY = {"type": "approve"}, {"type": "respond", "message": "this"}


@pytest.mark.parametrize(
    ("ask", "asked"),
    [("never", []), ("edits", ["bash", "edit", "mine"]), ("all", ["bash", "edit", "mine", "read"])],
)
def test_each_level_asks_about_its_kinds(ask: Any, asked: list[str]) -> None:
    kinds: dict[str, Any] = {"bash": "write", "edit": "write", "mine": "write", "read": "read"}
    rules = Rules(ask=ask)
    assert [name for name, kind in kinds.items() if must_ask(name, {}, kind, rules)] == asked


def test_a_question_of_the_model_is_always_asked() -> None:
    assert must_ask("ask_user", {}, "read", Rules(allow=("ask_user",)))


def test_destructive_commands_are_asked_about_only_where_somebody_answers() -> None:
    wipe = {"command": "git reset --hard"}
    assert must_ask("bash", wipe, "write", Rules(interactive=True))
    assert not must_ask("bash", wipe, "write", Rules(interactive=False))
    assert not must_ask("mine", wipe, "write", Rules(interactive=True))


@pytest.mark.parametrize(
    ("rule", "asked"),
    [
        ("bash(git reset --hard)", False),
        ("bash", False),
        ("bash(git *)", True),
        ("bash(git reset *)", True),
        ("bash(*)", True),
        ("edit", True),
    ],
)
def test_only_a_rule_for_that_very_command_covers_one_that_destroys_work(
    rule: str, asked: bool
) -> None:
    for rules in (Rules(interactive=True, allow=(rule,)), Rules("all", (rule,))):
        assert must_ask("bash", {"command": "git reset --hard"}, "write", rules) is asked


@pytest.mark.parametrize(
    ("path", "allowed"),
    [
        ("docs/a.md", True),
        ("docs/b/c.md", True),
        ("./docs/a.md", True),
        ("docs/../src/a.py", False),
        ("src/a.py", False),
        ("src/docs/a.md", False),
        ("docs/out/a.md", False),
        ("link/a.md", True),
        ("../docs/a.md", False),
        ("docs/gone/../../src/a.py", False),
        ("docs\0/a", False),
        ("", False),
    ],
)
def test_a_rule_for_paths_is_about_the_file_that_a_path_leads_to(
    workspace: Path, path: str, allowed: bool
) -> None:
    (workspace / "docs").mkdir()
    (workspace / "src").mkdir()
    (workspace / "docs" / "out").symlink_to(workspace / "src")
    (workspace / "link").symlink_to("docs")
    place = Workspace(workspace, workspace).really
    assert allows("edit(docs/**)", "edit", {"path": path}, place) is allowed
    assert not allows("edit(docs/**)", "read_file", {"path": path}, place)


def test_a_workspaces_absolute_path_is_known_by_its_place_in_it(workspace: Path) -> None:
    place = Workspace(workspace, workspace).really
    assert allows("edit(docs/**)", "edit", {"path": f"{workspace}/docs/a.md"}, place)
    assert not allows("edit(docs/**)", "edit", {"path": "/etc/docs/a.md"}, place)


def test_without_a_disk_only_plain_names_count() -> None:
    assert allows("edit(docs/**)", "edit", {"path": "docs/a.md"})
    assert not allows("edit(docs/**)", "edit", {"path": "docs/../a.md"})
    assert not allows("edit(docs/**)", "edit", {"path": "/docs/a.md"})
    assert not allows("edit(docs/**)", "edit", {"path": ["docs/a.md"]})
    assert not allows("edit(docs/**)", "edit", {})


@pytest.mark.parametrize(
    "rule",
    ["", "bash(git status", "bash)", "a b", "bash()", "edit(!src)", "bash(a; b)", "bash(a*)"],
)
def test_a_rule_that_could_never_match_is_refused_with_an_example(rule: str) -> None:
    with pytest.raises(HeadwayError, match=r"bash\("):
        check_rules([rule])


def test_question_and_answer_have_langchains_shape() -> None:
    asked = question(CALLS)
    assert TypeAdapter(HITLRequest).validate_python(asked) == asked
    assert [c["allowed_decisions"] for c in asked["review_configs"]] == [
        ["approve", "edit", "reject"], ["respond"],
    ]  # fmt: skip
    answer = {"decisions": [YES, SAY]}
    assert TypeAdapter(HITLResponse).validate_python(answer) == answer
    assert read_answer(answer, CALLS, TOOLS) == {"c1": YES, "c2": SAY}


EDIT = {"type": "edit", "edited_action": {"name": "bash", "args": {"command": "pwd"}}}


@pytest.mark.parametrize(
    "answer",
    [
        None,
        "yes",
        True,
        [],
        [YES, SAY],
        {"decisions": None},
        {"decisions": []},
        {"decisions": [YES]},
        {"decisions": [YES, SAY, YES]},
        {"decisions": [YES, YES]},
        {"decisions": [SAY, SAY]},
        {"decisions": ["approve", SAY]},
        {"decisions": [{"type": "Approve"}, SAY]},
        {"decisions": [{}, SAY]},
        {"decisions": [YES, {"type": "respond"}]},
        {"decisions": [YES, EDIT]},
        {"decisions": [{"type": "edit"}, SAY]},
        {"decisions": [{"type": "edit", "edited_action": {"name": "bash"}}, SAY]},
        {"decisions": [{"type": "edit", "edited_action": {"name": "gone", "args": {}}}, SAY]},
        {"decisions": [{"type": "edit", "edited_action": {"name": "ask_user", "args": {}}}, SAY]},
    ],
)
def test_an_answer_that_does_not_fit_says_what_is_wrong(answer: object) -> None:
    said = read_answer(answer, CALLS, TOOLS)
    assert isinstance(said, str)
    assert said


@pytest.mark.parametrize(
    ("args", "words"),
    [
        ({}, "missing parameter command"),
        ({"command": ["ls"]}, "command must be string"),
        ({"command": "ls", "cwd": "/"}, "unknown parameter cwd"),
        ({"command": "a\0b"}, "NUL"),
        ({"command": "ls", "timeout": float("nan")}, "NaN"),
    ],
)
def test_edited_arguments_are_checked_as_a_models_are(args: dict[str, Any], words: str) -> None:
    edit = {"type": "edit", "edited_action": {"name": "bash", "args": args}}
    said = read_answer({"decisions": [edit, SAY]}, CALLS, TOOLS)
    assert isinstance(said, str)
    assert words in said


def test_edited_arguments_run_with_the_types_of_the_schema() -> None:
    action = {"name": "read_file", "args": {"path": "a", "start": "3"}, "id": "other"}
    read = read_answer(
        {"decisions": [{"type": "edit", "edited_action": action}, SAY]}, CALLS, TOOLS
    )
    assert isinstance(read, dict)
    assert read["c1"]["edited_action"] == {"name": "read_file", "args": {"path": "a", "start": 3}}


json_values: Any = st.recursive(
    st.none() | st.booleans() | st.text(max_size=8) | st.sampled_from(["approve", "edit", "type"]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["type", "decisions", "message", "x"]), inner, max_size=3)
    ),
    max_leaves=12,
)


@given(json_values)
def test_nothing_runs_without_a_clear_yes_for_each_call(answer: Any) -> None:
    read = read_answer(answer, CALLS, TOOLS)
    if isinstance(read, dict):
        given = answer["decisions"]
        assert [read["c1"], read["c2"]] == given
        assert read["c1"]["type"] in ("approve", "reject")
        assert read["c2"]["type"] in ("respond", "reject")
