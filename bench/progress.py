"""Replay recorded runs through the no-progress detector and, side by side, through its peers.

    python bench/progress.py DATA_DIR [--peers PYTHON] [--list]

PYTHON: an interpreter where peers' packages are installed (a peer that is not is printed so).
"""

import argparse
import json
import subprocess
import time
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from statistics import mean

from progress_data import Replay, Run, read_runs, replay
from progress_peers import PEERS

from headway.progress import ProgressSettings

Alarm = int | None
STUCK = "SIEF"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", type=Path)
    parser.add_argument("--peers", type=Path, help="interpreter with the peers' packages")
    parser.add_argument("--list", action="store_true", help="print each false alarm and each miss")
    options = parser.parse_args()
    runs = read_runs(options.data / "dev.jsonl")
    probes = read_runs(options.data / "probes.jsonl")
    settings = ProgressSettings()
    _tables(runs, settings, options.list)
    _peers(runs, probes, options.peers)
    _reward(runs, settings)
    _probes(probes, settings)
    _local(read_runs(options.data / "local.jsonl"), settings)
    _curve(runs)
    _cost(runs, settings)


def _tables(runs: Sequence[Run], settings: ProgressSettings, listing: bool) -> None:
    results = [(run, replay(run, settings)) for run in runs]
    for title, kept in (
        ("all runs", results),
        ("tuning half (by task)", [(r, x) for r, x in results if r.half == "tune"]),
        ("held-out half (by task)", [(r, x) for r, x in results if r.half == "held"]),
    ):
        print(f"\n{title}")
        _row_head()
        for level in ("tell", "stop"):
            _row(level, [(run, getattr(result, level)) for run, result in kept])
    if listing:
        _list(results)


def _row_head() -> None:
    heads = (f"{name:>18}" for name in ("S", "I", "E", "F", "false on N"))
    print(f"{'level':<18}" + "".join(heads))


def _row(title: str, alarms: Sequence[tuple[Run, Alarm]]) -> None:
    cells = []
    for klass in STUCK:
        of_class = [(run, alarm) for run, alarm in alarms if run.klass == klass]
        found = [(run, alarm) for run, alarm in of_class if alarm is not None]
        burned = [max(0, alarm - (run.onset or 0)) for run, alarm in found]
        late = f" +{mean(burned):.1f}" if burned else ""
        cells.append(f"{len(found)}/{len(of_class)}{late}")
    honest = [(run, alarm) for run, alarm in alarms if run.klass == "N"]
    false = sum(is_false(run, alarm) for run, alarm in honest)
    cells.append(f"{false}/{len(honest)} {100 * false / max(1, len(honest)):.1f}%")
    print(f"{title:<18}" + "".join(f"{cell:>18}" for cell in cells))


def is_false(run: Run, alarm: Alarm) -> bool:
    """An alarm before the last step of a run that succeeded."""
    return alarm is not None and alarm < len(run.steps) - 1


def _list(results: Sequence[tuple[Run, Replay]]) -> None:
    for run, result in results:
        if run.klass == "N" and is_false(run, result.tell):
            level = "STOP" if is_false(run, result.stop) else "tell"
            print(f"false {level}: {run.source} {run.name} {len(run.steps)} {result.rules}")
        if run.klass in "SIE" and result.stop is None:
            print(f"missed {run.klass}: {run.source} {run.name} {len(run.steps)} {result.rules}")


def _peers(runs: Sequence[Run], probes: Sequence[Run], python: Path | None) -> None:
    """Each peer's first alarm, by its own code in its own interpreter."""
    print("\npeers (first alarm)")
    found = peer_alarms([*runs, *probes], python) if python else []
    for name in PEERS:
        if not found or name not in found[0]:
            print(f"{name:<18}not installed")
            continue
        alarms = [row[name] for row in found]
        _row(name, list(zip(runs, alarms, strict=False)))
        verdicts = list(zip(probes, alarms[len(runs) :], strict=True))
        told = sum(alarm is not None for run, alarm in verdicts if run.klass != "N")
        silent = sum(alarm is None for run, alarm in verdicts if run.klass == "N")
        print(f"{'':<18}probes: {told} alarms, {silent} silent")


def peer_alarms(runs: Sequence[Run], python: Path) -> list[dict[str, Alarm]]:
    """One row a run: peer → step of its first alarm."""
    script = Path(__file__).with_name("progress_peers.py")
    lines = "".join(json.dumps(run.steps) + "\n" for run in runs)
    done = subprocess.run(
        [str(python), str(script)], input=lines, stdout=subprocess.PIPE, text=True, check=True
    )
    return [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]


def _reward(runs: Sequence[Run], settings: ProgressSettings) -> None:
    scored = [run for run in runs if any("reward" in step for step in run.steps)]
    print("\nwhere the environment's reward is the counter")
    _row_head()
    results = [(run, replay(run, settings, with_reward=True)) for run in scored]
    for level in ("tell", "stop"):
        _row(level, [(run, getattr(result, level)) for run, result in results])


def _probes(probes: Sequence[Run], settings: ProgressSettings) -> None:
    results = [(run, replay(run, settings)) for run in probes]
    stuck = [(run, r) for run, r in results if run.klass != "N"]
    honest = [(run, r) for run, r in results if run.klass == "N"]
    told = sum(r.tell is not None for _, r in stuck)
    stopped = sum(r.stop is not None for _, r in stuck)
    silent = sum(r.tell is None for _, r in honest)
    print(f"\nprobes: {told}/{len(stuck)} told, {stopped}/{len(stuck)} stopped;", end=" ")
    print(f"{silent}/{len(honest)} silent")
    for run, r in results:
        if (r.tell is None) != (run.klass == "N") or (run.klass != "N" and r.stop is None):
            print(f"  {run.name}: onset {run.onset}, {r.rules}")


def _local(runs: Sequence[Run], settings: ProgressSettings) -> None:
    if not runs:
        return
    found: dict[str, list[Replay]] = defaultdict(list)
    for run in runs:
        found[run.klass].append(replay(run, settings))
    print("\nsmall local models (unlabelled): outcome, runs, told, stopped")
    for outcome, results in sorted(found.items()):
        told = sum(r.tell is not None for r in results)
        print(
            f"  {outcome:<10}{len(results):>4}{told:>5}"
            f"{sum(r.stop is not None for r in results):>5}"
        )


def _curve(runs: Sequence[Run]) -> None:
    print("\nrecall against false alarms; the score's threshold at which the model is told")
    _row_head()
    for step in range(4, 25, 2):
        level = step / 4
        settings = ProgressSettings(tell=level, stop=level + 1)
        _row(f"{level:.1f}", [(run, replay(run, settings).tell) for run in runs])


def _cost(runs: Sequence[Run], settings: ProgressSettings) -> None:
    sample = runs[:: max(1, len(runs) // 200)]
    start = time.process_time()
    for run in sample:
        replay(run, settings)
    spent = time.process_time() - start
    print(f"\ncost: {1000 * spent / sum(len(run.steps) for run in sample):.3f} ms CPU a step")


if __name__ == "__main__":
    main()
