"""The tree: lines from parent links, stable names, and what a person may type."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from langchain_core.messages import HumanMessage
from langgraph.types import Command

from headway.heads import HeadFile, Heads
from headway_debugger.backend import Backend, address
from headway_debugger.fork import fork
from headway_debugger.rows import Row, created
from headway_debugger.tree import build_tree, resolve
from headway_debugger.views import tree
from headway_tools.errors import HeadwayError


def test_each_step_names_its_number_its_writer_and_what_followed(finished: Any) -> None:
    nodes = list(tree(Backend(finished), "t").nodes.values())
    assert [node.name for node in nodes] == [str(n) for n in range(9)]
    assert [node.writers for node in nodes[1:6]] == [
        ("__start__",), ("agent",), ("approve",), ("tools",), ("agent",)
    ]  # fmt: skip
    assert nodes[2].next == ("approve",)
    assert nodes[-1].next is None
    assert nodes[5].marks == {"interrupt", "answer"}


def test_times_in_ids_are_the_times_in_the_checkpoints(finished: Any) -> None:
    for snapshot in finished.get_state_history(address("t")):
        found = created(snapshot.config["configurable"]["checkpoint_id"])
        assert found is not None
        assert abs((found - _parsed(snapshot.created_at)).total_seconds()) < 0.1


def _parsed(text: str) -> Any:
    from datetime import datetime

    return datetime.fromisoformat(text)


def test_the_history_of_any_graph_gives_the_same_tree_as_the_rows(finished: Any) -> None:
    backend = Backend(finished)
    fork(backend, "t", resolve(tree(backend, "t"), "5"))
    fast = tree(backend, "t")
    backend._rows = None
    slow = tree(backend, "t")
    assert [(n.id, n.name, n.writers) for n in fast.nodes.values()] == [
        (n.id, n.name, n.writers) for n in slow.nodes.values()
    ]


def test_branches_are_numbered_in_the_order_they_were_made(finished: Any) -> None:
    backend = Backend(finished)
    first = fork(backend, "t", resolve(tree(backend, "t"), "7"))
    second = fork(backend, "t", resolve(tree(backend, "t"), "3"))
    found = tree(backend, "t")
    assert {name: branch.start.id for name, branch in found.branches.items()}.items() >= {
        ("b2", first.start), ("b3", second.start)
    }  # fmt: skip
    assert [b.forked_from.name for b in found.branches.values() if b.forked_from] == ["7", "3"]
    assert resolve(found, "b2.6").branch == "main"


def test_a_new_run_on_the_original_goes_on_with_its_line(finished: Any) -> None:
    backend = Backend(finished)
    tip = resolve(tree(backend, "t"), "main")
    fork(backend, "t", tip)
    finished.invoke({"messages": [HumanMessage("more")]}, address("t", tip.id))
    found = tree(backend, "t")
    assert len(found.branches["main"].nodes) > 9
    assert len(found.branches["b2"].nodes) == 1


def test_sends_are_shown_by_the_node_they_go_to(saver: Any) -> None:
    from debugger_support import map_reduce

    graph = map_reduce(saver)
    graph.invoke({"items": ["a", "b", "c"]}, address("t"))
    writers = [node.writers for node in tree(Backend(graph), "t").nodes.values()]
    assert ("work",) in writers
    assert not any("#" in name or name == "?" for names in writers for name in names)


@pytest.mark.parametrize(
    ("text", "name"),
    [("7", "7"), ("t@7", "7"), ("main", "8"), ("b2", "b2.7"), ("t@b2.7", "b2.7"), ("b2.5", "5")],
)
def test_a_step_is_found_by_what_a_person_types(finished: Any, text: str, name: str) -> None:
    backend = Backend(finished)
    fork(backend, "t", resolve(tree(backend, "t"), "6"))
    assert resolve(tree(backend, "t"), text).name == name


@pytest.mark.parametrize("text", ["99", "b9", "b9.1", "t@", "1f", "zz", "other@7", "-1", "7.7"])
def test_what_names_no_step_is_refused_in_one_line(finished: Any, text: str) -> None:
    with pytest.raises(HeadwayError) as error:
        resolve(tree(Backend(finished), "t"), text)
    assert "\n" not in str(error.value)


def test_of_many_branches_the_first_are_named_and_the_rest_counted(finished: Any) -> None:
    backend = Backend(finished)
    for _ in range(7):
        fork(backend, "t", resolve(tree(backend, "t"), "3"))
    with pytest.raises(HeadwayError) as error:
        resolve(tree(backend, "t"), "99")
    assert str(error.value).endswith("b6.4 to b6.4, and 2 more branches")


def test_a_checkpoint_id_or_its_start_is_a_name_unless_it_fits_two() -> None:
    rows = [Row("1f000000-aaaa", None, -1, "input"), Row("1f000000-ab", "1f000000-aaaa", 0, "loop")]
    found = build_tree("t", rows)
    assert resolve(found, "1f000000-ab").name == "1"
    assert resolve(found, "1f000000-aa").name == "0"
    with pytest.raises(HeadwayError, match="fits 2 checkpoints"):
        resolve(found, "1f000000")


def test_an_unknown_thread_is_one_clear_error(finished: Any) -> None:
    with pytest.raises(HeadwayError, match="no thread nobody"):
        tree(Backend(finished), "nobody")


def test_stored_names_win_and_stay_when_other_branches_go(finished: Any, tmp_path: Any) -> None:
    backend = Backend(finished)
    store = HeadFile(tmp_path / "heads.json")
    made = fork(backend, "t", resolve(tree(backend, "t"), "3"))
    fork(backend, "t", resolve(tree(backend, "t"), "4"))
    store.save(Heads().named("try", made.start).keeping(tree(backend, "t", store).starts).on("try"))
    rows = [row for row in backend.rows("t") if row.id != made.start]
    assert list(build_tree("t", rows, store.load().names).branches) == ["main", "b3"]
    assert store.load().current == "try"


def test_a_name_is_given_once(tmp_path: Any) -> None:
    heads = Heads().named("try", "1")
    with pytest.raises(HeadwayError, match="branch try exists"):
        heads.named("try", "2")
    with pytest.raises(HeadwayError, match="no branch name"):
        heads.named("b 2", "3")


@pytest.mark.parametrize("text", ["", "[]", '{"version": 1}', "{", '{"version": 9}'])
def test_a_damaged_or_newer_heads_file_is_one_clear_error(tmp_path: Any, text: str) -> None:
    path = tmp_path / "heads.json"
    path.write_text(text)
    with pytest.raises(HeadwayError) as error:
        HeadFile(path).load()
    assert str(path) in str(error.value)


@st.composite
def _rows(draw: st.DrawFn) -> list[Row]:
    rows: list[Row] = []
    for number in range(draw(st.integers(1, 30))):
        parent = draw(st.sampled_from([None, *rows]))
        step = parent.step + draw(st.integers(1, 3)) if parent else -1
        source = draw(st.sampled_from(["loop", "fork", "input", "update"]))
        rows.append(Row(f"1f{number:06d}-x", parent and parent.id, step, source))
    return rows


@settings(max_examples=50)
@given(rows=_rows(), shuffled=st.randoms())
def test_every_checkpoint_is_on_one_line_and_found_by_its_own_name(
    rows: list[Row], shuffled: Any
) -> None:
    order = list(rows)
    shuffled.shuffle(order)
    found = build_tree("t", order)
    assert sorted(found.nodes) == sorted(row.id for row in rows)
    on_lines = [node.id for branch in found.branches.values() for node in branch.nodes]
    assert sorted(on_lines) == sorted(found.nodes)
    for node in found.nodes.values():
        assert resolve(found, node.name) is node
        assert resolve(found, node.id) is node


@settings(max_examples=50)
@given(rows=_rows())
def test_names_stay_when_the_thread_grows(rows: list[Row]) -> None:
    before = build_tree("t", rows[:-1] or rows)
    after = build_tree("t", rows)
    assert all(after.nodes[i].name == node.name for i, node in before.nodes.items())


def test_an_answer_given_late_is_on_the_line_of_its_question(graph: Any) -> None:
    graph.invoke({"messages": [HumanMessage("task")]}, address("t"))
    graph.invoke(Command(resume="yes"), address("t"))
    assert list(tree(Backend(graph), "t").branches) == ["main"]
