import shutil
from pathlib import Path

import pytest
from trees_support import Gardener, describe

from headway_tools.snapshots import Snapshots


def walk_back_and_forth(seed: int, folder: Path) -> None:
    """Change a tree a few times; go back to each state in place and in a fresh folder."""
    root = folder / "work"
    root.mkdir(parents=True)
    gardener = Gardener(seed, root)
    snapshots = Snapshots(folder / "store")
    states = []
    gardener.plant(12)
    for _ in range(4):
        states.append((snapshots.take(root), describe(root)))
        gardener.change(6)
    gardener.random.shuffle(states)
    for number, (snapshot, expected) in enumerate(states):
        report = snapshots.restore(snapshot, root)
        assert describe(root) == expected
        assert report.notes == []
        assert snapshots.take(root) == snapshot
        assert snapshots.plan(snapshot, root) == []
        branch = folder / f"branch{number}"
        snapshots.extract(snapshot, branch)
        assert describe(branch) == expected
        assert snapshots.take(branch) == snapshot
        gardener.change(2)
    snapshots.close()


@pytest.mark.parametrize("seed", range(6))
def test_restored_and_extracted_trees_equal_the_recorded_ones(seed: int, tmp_path: Path) -> None:
    walk_back_and_forth(seed, tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("first", range(100, 1100, 100))
def test_a_thousand_states_are_restored_without_a_difference(first: int, tmp_path: Path) -> None:
    for seed in range(first, first + 25):
        walk_back_and_forth(seed, tmp_path / str(seed))
        shutil.rmtree(tmp_path / str(seed))
