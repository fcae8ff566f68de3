"""Random (run, step) pairs: what a fork or a restore brings, to the last byte, mode and message."""

import random
from pathlib import Path
from typing import Any

import pytest
from debugger_support import stored_rows
from runs_support import THREAD, RandomRun
from trees_support import describe

from headway_debugger.branching import fork_thread
from headway_debugger.rewind import restore_thread, undo_thread
from headway_debugger.threads import Thread, open_thread
from headway_debugger.tree import TreeNode


def states_of(thread: Thread) -> dict[str, dict[str, Any]]:
    """Every step's state, read before anything is forked."""
    return {node.id: thread.state(node) for node in thread.tree.nodes.values()}


def rows_of(thread: Thread) -> dict[tuple[str, ...], Any]:
    return stored_rows(thread.backend.saver, THREAD)


class Pairs:
    """Forks and restores of one run, each compared with what the run itself saw."""

    def __init__(self, run: RandomRun, thread: Thread) -> None:
        self.run, self.thread = run, thread
        self.states = states_of(thread)
        self.rows = rows_of(thread)
        self.files = {node.id: self._truth(node) for node in thread.tree.nodes.values()}

    def _truth(self, node: TreeNode) -> Any:
        snapshot = self.thread.backend.snapshot(THREAD, node.id)
        return self.run.truth(self.states[node.id], tuple(snapshot.next))

    def fork(self, node: TreeNode) -> None:
        before = describe(self.run.workspace)
        branch = fork_thread(self.thread.again(), node)
        folder = self.thread.folder.branch(branch)
        assert describe(folder) == self.files[node.id], f"{self.run.seed}: fork at {node.name}"
        assert describe(self.run.workspace) == before
        self._same_messages(node)

    def restore(self, node: TreeNode) -> None:
        before = describe(self.run.workspace)
        restore_thread(self.thread.again(), node, force=True)
        found = describe(self.run.workspace)
        assert found == self.files[node.id], f"{self.run.seed}: restore to {node.name}"
        self._same_messages(node)
        undo_thread(self.thread.again(), force=True)
        assert describe(self.run.workspace) == before

    def _same_messages(self, node: TreeNode) -> None:
        now = self.thread.again()
        state = now.state(now.node())
        assert state.get("messages") == self.states[node.id].get("messages")

    def originals_are_untouched(self) -> None:
        after = rows_of(self.thread)
        assert {key: after.get(key) for key in self.rows} == self.rows


def try_pairs(folder: Path, seed: int, count: int) -> int:
    run = RandomRun(folder, seed).make()
    chance = random.Random(seed)
    with open_thread(run.home, THREAD) as thread:
        pairs = Pairs(run, thread)
        nodes = list(thread.tree.nodes.values())
        for number in range(count):
            node = chance.choice(nodes)
            (pairs.fork if number % 2 else pairs.restore)(node)
        pairs.originals_are_untouched()
    return count


@pytest.mark.parametrize("seed", [1, 2])
def test_a_fork_and_a_restore_bring_every_byte_mode_link_and_message(
    tmp_path: Path, seed: int
) -> None:
    assert try_pairs(tmp_path, seed, 8) == 8


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(100, 150))
def test_a_thousand_pairs_differ_in_nothing(tmp_path: Path, seed: int) -> None:
    assert try_pairs(tmp_path, seed, 20) == 20
