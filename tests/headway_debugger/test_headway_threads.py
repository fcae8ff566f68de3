"""Time travel over headway's own graph, with real files, sandbox and journal."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from debugger_support import texts
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage
from langgraph.checkpoint.base import BaseCheckpointSaver

from headway.build import Agent, build_agent, workspace_tools
from headway.heads import HeadFile
from headway.testing import PolicyModel, ScriptedModel
from headway_debugger.backend import Backend, address
from headway_debugger.compare import Side, diff
from headway_debugger.edits import human_edit, task_edit
from headway_debugger.files import files_at, fork_files, restore, snapshots_named
from headway_debugger.fork import continue_from, editable
from headway_debugger.replay import Recording, first_divergence, recorded_model, recorded_tools
from headway_debugger.tree import ThreadTree, resolve
from headway_debugger.upkeep import last_steps, prune
from headway_debugger.views import tree
from headway_tools.errors import HeadwayError
from headway_tools.home import Home
from headway_tools.journal import SqliteJournal
from headway_tools.snapshots import Snapshots
from headway_tools.storage import FolderStorage

SCRIPT: list[dict[str, Any]] = [
    {"tool_calls": [{"name": "bash", "args": {"command": "echo two >> a.txt; mkdir -p d"}}]},
    {
        "content": "Two more.",
        "tool_calls": [
            {"name": "read_file", "args": {"path": "a.txt"}},
            {"name": "bash", "args": {"command": "mv a.txt d/b.txt; chmod 700 d/b.txt"}},
        ],
    },
    {"content": "All done."},
]


@dataclass
class Ran:
    """A finished run in thread `t` and what belongs to it."""

    graph: Agent
    backend: Backend
    workspace: Path
    home: Home
    snapshots: Snapshots
    messages: list[BaseMessage]

    def tree(self) -> ThreadTree:
        return tree(self.backend, "t", HeadFile(self.home.thread("t").path / "heads.json"))

    def fork(self, step: str, name: str, edit: Any = None) -> Any:
        found = self.tree()
        return fork_files(
            self.backend,
            found,
            resolve(found, step),
            name,
            snapshots=self.snapshots,
            folder=self.home.thread("t"),
            edit=edit,
        )


@pytest.fixture
def ran(tmp_path: Path, sqlite_saver: BaseCheckpointSaver[Any]) -> Iterator[Ran]:
    workspace, home = tmp_path / "work", Home(tmp_path / "home")
    workspace.mkdir()
    (workspace / "a.txt").write_text("one\n")
    graph = build_agent(
        ScriptedModel(SCRIPT), workspace=workspace, home=home.path, checkpointer=sqlite_saver
    )
    result = graph.invoke({"messages": [HumanMessage("do it", id="h1")]}, address("t"))
    assert result["outcome"]["status"] == "completed"
    snapshots = FolderStorage(home).snapshots("t", workspace)
    yield Ran(graph, Backend(graph), workspace, home, snapshots, result["messages"])
    snapshots.close()


def _files(root: Path) -> dict[str, tuple[int, str]]:
    return {
        str(path.relative_to(root)): (path.stat().st_mode, path.read_text())
        for path in sorted(root.rglob("*"))
        if path.is_file()
    }


def test_a_branch_from_any_step_ends_like_its_original_in_its_own_folder(ran: Ran) -> None:
    expected = _files(ran.workspace)
    for node in list(ran.tree().nodes.values()):
        name = f"from{node.number}"
        made = ran.fork(node.name, name)
        if made.next:
            result = ran.graph.invoke(None, address("t", made.head))
            assert texts(result["messages"]) == texts(ran.messages)
        assert _files(ran.home.thread("t").branch(name)) == expected
        assert _files(ran.workspace) == expected
    main = resolve(ran.tree(), "main")
    for branch in ran.tree().branches.values():
        side = Side(ran.tree(), branch.tip)
        found = diff(ran.backend, Side(ran.tree(), main), side, files=ran.snapshots)
        assert found.first is None
        assert not found.files


def test_the_files_of_a_step_are_those_before_its_next_call(ran: Ran) -> None:
    found = ran.tree()
    first = ran.snapshots.read(files_at(ran.backend, found, resolve(found, "0")), "a.txt")
    later = ran.snapshots.read(files_at(ran.backend, found, resolve(found, "7")), "a.txt")
    assert (first, later) == (b"one\n", b"one\ntwo\n")
    sides = Side(found, resolve(found, "3")), Side(found, resolve(found, "main"))
    compared = diff(ran.backend, *sides, files=ran.snapshots)
    assert sorted(change.path for change in compared.files) == ["a.txt", "d", "d/b.txt"]
    assert "+two" in compared.patch


def test_a_fork_with_another_task_or_one_more_message_runs_in_its_folder(ran: Ran) -> None:
    found = ran.tree()
    node = resolve(found, "main")
    for name, edit in (
        ("task", task_edit(editable(ran.backend, "t", node), "other")),
        ("more", human_edit("and now?")),
    ):
        made = ran.fork("main", name, edit)
        values = ran.backend.snapshot("t", made.head).values
        assert values["hw_branch"] == name
    result = ran.graph.invoke(None, address("t", made.head))
    assert "and now?" in texts(result["messages"])
    assert result["outcome"]["thread"] in (None, "t")


def test_a_taken_folder_is_refused_before_anything_is_written(ran: Ran) -> None:
    ran.fork("3", "try")
    count = len(ran.backend.rows("t"))
    with pytest.raises(HeadwayError, match="branch try has files"):
        ran.fork("4", "try")
    assert len(ran.backend.rows("t")) == count


def test_a_restore_refuses_to_overwrite_and_can_be_undone(ran: Ran) -> None:
    found = ran.tree()
    first = files_at(ran.backend, found, resolve(found, "0"))
    known = files_at(ran.backend, found, resolve(found, "main"))
    after = _files(ran.workspace)
    planned = restore(ran.snapshots, first, ran.workspace, known=known, dry_run=True)
    assert planned.changes
    assert _files(ran.workspace) == after
    (ran.workspace / "mine.txt").write_text("mine")
    with pytest.raises(HeadwayError, match=r"changed outside this thread \(mine.txt\)"):
        restore(ran.snapshots, first, ran.workspace, known=known)
    done = restore(ran.snapshots, first, ran.workspace, known=known, force=True)
    assert {path: text for path, (_, text) in _files(ran.workspace).items()} == {"a.txt": "one\n"}
    assert done.report is not None
    assert done.report.before is not None
    restore(ran.snapshots, done.report.before, ran.workspace, known=first)
    assert _files(ran.workspace).keys() == after.keys() | {"mine.txt"}


def test_after_a_prune_the_kept_steps_still_have_their_files(ran: Ran) -> None:
    found = ran.tree()
    prune(ran.backend, found, last_steps(found, 4))
    left = ran.tree()
    ran.snapshots.collect(snapshots_named(ran.backend, left, left.nodes.values()))
    made = ran.fork("main", "try")
    assert _files(ran.home.thread("t").branch("try")) == _files(ran.workspace)
    assert texts(ran.backend.snapshot("t", made.head).values["messages"]) == texts(ran.messages)
    ran.graph.invoke({"messages": [HumanMessage("go on")]}, continue_from(ran.tree(), "main"))


def _recording(ran: Ran) -> Recording:
    journal = SqliteJournal(ran.home.thread("t").journal)
    try:
        whole = {
            output: journal.read(output)
            for message in ran.messages
            if (output := message.response_metadata.get("headway", {}).get("output"))
        }
    finally:
        journal.close()
    return Recording(ran.messages, whole.__getitem__)


def _replayed(recording: Recording, home: Path, **options: Any) -> list[BaseMessage]:
    graph = build_agent(
        options.pop("model", recorded_model(recording)),
        tools=recorded_tools(workspace_tools(), recording),
        sandbox="none",
        home=home,
        **options,
    )
    result = graph.invoke({"messages": recording.inputs})
    return list(result["messages"])


def test_a_recorded_replay_says_the_same_and_touches_nothing(ran: Ran, tmp_path: Path) -> None:
    before = _files(tmp_path / "work")
    replayed = _replayed(_recording(ran), tmp_path / "other")
    assert first_divergence(ran.messages, replayed) is None
    assert _files(tmp_path / "work") == before


def test_a_changed_reply_is_named_as_the_first_divergence(ran: Ran, tmp_path: Path) -> None:
    recording = _recording(ran)

    def policy(messages: list[BaseMessage], tools: list[dict[str, Any]]) -> AIMessage:
        reply = recording.reply(messages, tools)
        return reply if reply.tool_calls else AIMessage("Something else.")

    replayed = _replayed(recording, tmp_path / "other", model=PolicyModel(policy=policy))
    found = first_divergence(ran.messages, replayed)
    assert found is not None
    assert (found.index, found.what) == (6, "content")
    assert "'All done.'" in str(found)
    assert "'Something else.'" in str(found)


def test_a_missing_or_extra_message_is_a_divergence() -> None:
    human, reply = HumanMessage("a"), AIMessage("b")
    missing, extra = first_divergence([human, reply], [human]), first_divergence([], [human])
    assert missing is not None
    assert extra is not None
    assert (missing.index, missing.what, extra.index, extra.what) == (1, "missing", 0, "extra")


def test_what_was_not_recorded_is_one_clear_error() -> None:
    recording = Recording([HumanMessage("a"), AIMessage("b")])
    with pytest.raises(HeadwayError, match="has 1 replies, one more is asked"):
        recording.reply([HumanMessage("a"), AIMessage("b"), HumanMessage("c")], [])
    with pytest.raises(HeadwayError, match="no result for call x"):
        recording.result("x")


def test_a_reply_that_history_leaves_out_keeps_its_turn() -> None:
    note = HumanMessage("empty", name="headway")
    recording = Recording([HumanMessage("a"), note, AIMessage("b")])
    assert recording.reply([HumanMessage("a")], []).text == ""
    assert recording.reply([HumanMessage("a"), note], []).text == "b"
    assert recording.inputs[0].text == "a"
    assert len(recording.inputs) == 1


def test_a_result_without_a_journal_is_the_one_in_the_thread() -> None:
    answer = ToolMessage("seen", tool_call_id="c", response_metadata={"headway": {"output": "o"}})
    assert Recording([answer]).result("c").text == "seen"
    assert Recording([answer], lambda output: "whole").result("c").text == "whole"
