"""CPU of one round and bytes of a thread, beside LangChain's `create_agent`.

    python bench/cost.py [--rounds 10,100,1000] [--repeats 5] [--savers none,memory,sqlite]
    python bench/cost.py --parts [--rounds 50]
    python bench/cost.py --reads [--rounds 100,1000]

One run, every variant in turn, medians of process time (all threads, no waiting): compare inside
one table only. Each round is one model reply and one call of a trivial tool that returns 200
characters. "last" is the cost of the last tenth of the rounds, "ratio" is to create_agent with the
middlewares. `create_agent` stores its whole history in every checkpoint, so a saver's rows stop for
it at 300 rounds. `--parts` prints what snapshots, journal and sandbox add, `--reads` what it costs
to read, fork and go on with a finished thread in SQLite.
"""

import argparse
import gc
import os
import random
import sqlite3
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import Any

from langchain.agents import create_agent
from langchain.agents.middleware import (
    ModelCallLimitMiddleware,
    ModelRetryMiddleware,
    SummarizationMiddleware,
    ToolCallLimitMiddleware,
    ToolRetryMiddleware,
)
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.sqlite import SqliteSaver

from headway import Limits, build_agent
from headway.build import workspace_tools

MANY = 100_000
CONFIG: Any = {"configurable": {"thread_id": "t"}, "recursion_limit": MANY}
ASK: Any = {"messages": [("user", "look around")]}
PEERS_WITH_SAVER = 300
"""Rounds up to which create_agent is run with a saver: its thread grows with their square."""


class Caller(BaseChatModel):
    """Calls a tool in each reply but the last; notes the CPU time of each call."""

    rounds: int
    tool: str = "look"
    at: list[float] = []

    @property
    def _llm_type(self) -> str:
        return "caller"

    def bind_tools(self, tools: Sequence[Any], **kwargs: Any) -> Any:
        return self.bind(**kwargs)

    def _generate(self, messages: list[BaseMessage], *args: Any, **kwargs: Any) -> ChatResult:
        said = len(self.at)
        self.at.append(cpu())
        reply = AIMessage("done", response_metadata={"finish_reason": "stop"})
        if said < self.rounds:
            given = {"command": f"true {said}"} if self.tool == "bash" else {"place": said}
            call = {"name": self.tool, "args": given, "id": f"c{said}"}
            reply = AIMessage("", tool_calls=[call], response_metadata={"finish_reason": "tool"})
        return ChatResult(generations=[ChatGeneration(message=reply)])


def cpu() -> float:
    """Seconds of this process and of its children that have ended."""
    times = os.times()
    return time.process_time() + times.children_user + times.children_system


def look(place: int) -> str:
    """Look at a place."""
    chance = random.Random(place)
    return " ".join(f"{chance.getrandbits(36):09x}" for _ in range(20))


def headway(model: BaseChatModel, saver: Any) -> Any:
    limits = Limits(model_calls=MANY, tool_calls=MANY, seconds=None, tokens=MANY * MANY, cost=9e9)
    return build_agent(
        model, tools=[look], checkpointer=saver, limits=limits, window=MANY * MANY, memory=True
    )


def bare(model: BaseChatModel, saver: Any) -> Any:
    return create_agent(model, [look], checkpointer=saver)


def guarded(model: BaseChatModel, saver: Any) -> Any:
    middleware: list[Any] = [
        ModelCallLimitMiddleware(run_limit=MANY),
        ToolCallLimitMiddleware(run_limit=MANY),
        ModelRetryMiddleware(),
        ToolRetryMiddleware(),
        SummarizationMiddleware(model, trigger=("tokens", MANY * MANY)),
    ]
    return create_agent(model, [look], checkpointer=saver, middleware=middleware)


AGENTS: dict[str, Callable[[BaseChatModel, Any], Any]] = {
    "create_agent": bare,
    "create_agent + 5": guarded,
    "headway": headway,
}


@dataclass
class Line:
    """What the repeats of one variant showed."""

    whole: list[float] = field(default_factory=list)
    last: list[float] = field(default_factory=list)
    size: int = 0


@contextmanager
def opened(saver: str, folder: Path) -> Iterator[Any]:
    if saver == "none":
        yield None
    elif saver == "memory":
        yield InMemorySaver()
    else:
        connection = sqlite3.connect(folder / "checkpoints.sqlite", check_same_thread=False)
        yield SqliteSaver(connection)
        connection.close()


def measure(line: Line, make: Callable[[BaseChatModel, Any], Any], saver: str, rounds: int) -> None:
    """One run, added to `line`."""
    model = Caller(rounds=rounds, at=[])
    with tempfile.TemporaryDirectory() as name, opened(saver, Path(name)) as store:
        agent = make(model, store)
        options: dict[str, Any] = {} if store is None else {"durability": "sync"}
        gc.collect()
        result = agent.invoke(ASK, CONFIG, **options)
        assert len(model.at) == rounds + 1, result.get("outcome", len(model.at))
        line.size = stored(store, Path(name))
    tail = max(rounds // 10, 5)
    line.whole.append((model.at[-1] - model.at[0]) / rounds * 1000)
    line.last.append((model.at[-1] - model.at[-1 - tail]) / tail * 1000)


def stored(saver: Any, folder: Path) -> int:
    """Bytes that the saver keeps."""
    if isinstance(saver, InMemorySaver):
        return _bytes([dict(saver.storage), dict(saver.writes), dict(saver.blobs)])
    if isinstance(saver, SqliteSaver):
        saver.conn.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        return (folder / "checkpoints.sqlite").stat().st_size
    return 0


def _bytes(value: Any) -> int:
    if isinstance(value, bytes):
        return len(value)
    if isinstance(value, dict):
        return sum(map(_bytes, value.values()))
    return sum(map(_bytes, value)) if isinstance(value, list | tuple) else 0


def table(saver: str, rounds: int, repeats: int) -> None:
    agents = dict(AGENTS)
    if saver != "none" and rounds > PEERS_WITH_SAVER:
        agents = {"headway": headway}
    lines = {name: Line() for name in agents}
    for line, make in zip(lines.values(), agents.values(), strict=True):
        measure(line, make, saver, min(rounds, 10))  # warm
        line.whole.clear(), line.last.clear()
    for number in range(1 if rounds >= 1000 and saver != "none" else repeats):
        names = list(agents)
        for name in names[number % len(names) :] + names[: number % len(names)]:
            measure(lines[name], agents[name], saver, rounds)
    peer = lines.get("create_agent + 5")
    for name, line in lines.items():
        whole, last = median(line.whole), median(line.last)
        ratio = f"{whole / median(peer.whole):6.2f}{last / median(peer.last):6.2f}" if peer else ""
        spread = f"[{min(line.whole):.2f}-{max(line.whole):.2f}]"
        print(
            f"{saver:8}{rounds:6}  {name:18}{whole:7.2f} {spread:14}{last:7.2f}  "
            f"{ratio:>12}  {line.size:>11,}"
        )


def parts_table(rounds: int, repeats: int) -> None:
    """The same round in a workspace: a journal in a file, snapshots, a sandboxed command."""
    limits = Limits(model_calls=MANY, tool_calls=MANY, seconds=None)

    def run(tool: str, **options: Any) -> float:
        model = Caller(rounds=rounds, tool=tool, at=[])
        with tempfile.TemporaryDirectory() as name:
            home, workspace = Path(name) / "home", Path(name) / "workspace"
            workspace.mkdir()
            for number in range(300):
                (workspace / f"f{number}.txt").write_text("x\n" * number)
            given = {"workspace": workspace, **options} if options.pop("files", True) else options
            tools = [look] if tool == "look" else workspace_tools()
            agent: Any = build_agent(
                model, tools=tools, home=home, limits=limits, checkpointer=InMemorySaver(), **given
            )
            agent.invoke(ASK, CONFIG)
        return (model.at[-1] - model.at[0]) / (len(model.at) - 1) * 1000

    variants: dict[str, dict[str, Any]] = {
        "journal in memory": {"tool": "look", "files": False, "memory": True},
        "journal in a file": {"tool": "look", "files": False},
        "and snapshots of 300 files": {"tool": "look"},
        "a sandboxed command instead": {"tool": "bash"},
    }
    found: dict[str, list[float]] = {name: [] for name in variants}
    for _ in range(repeats + 1):
        for name, options in variants.items():
            found[name].append(run(**options))
    print(f"CPU ms per round, {rounds} rounds, InMemorySaver, sync; children included")
    for name, values in found.items():
        print(f"{name:32}{median(values[1:]):8.2f}")


def reads_table(rounds: int, repeats: int) -> None:
    """What is done with a finished thread of so many rounds."""
    with tempfile.TemporaryDirectory() as name, opened("sqlite", Path(name)) as store:
        agent = headway(Caller(rounds=rounds, at=[]), store)
        agent.invoke(ASK, CONFIG)
        checkpoints = [one.config for one in store.list(CONFIG)]
        middle = checkpoints[len(checkpoints) // 2]
        works: dict[str, Callable[[], object]] = {
            "get_state": lambda: agent.get_state(CONFIG),
            "get_state in the middle": lambda: agent.get_state(middle),
            "a further message, its run": lambda: agent.invoke(ASK, CONFIG),
            "a fork in the middle": lambda: agent.update_state(middle, None, as_node="__copy__"),
        }
        for what, work in works.items():  # a fork is what get_state reads from then on: it is last
            print(f"{rounds:6}  {what:28}{median(spent(work) for _ in range(repeats)):8.1f}")


def spent(work: Callable[[], object]) -> float:
    """Milliseconds of CPU."""
    gc.collect()
    start = cpu()
    work()
    return (cpu() - start) * 1000


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--rounds", default="10,100,1000")
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--savers", default="none,memory,sqlite")
    parser.add_argument("--parts", action="store_true")
    parser.add_argument("--reads", action="store_true")
    given = parser.parse_args()
    rounds = [int(number) for number in given.rounds.split(",")]
    if given.parts:
        parts_table(min(rounds), given.repeats)
        return
    if given.reads:
        print(f"{'rounds':>6}  {'CPU ms, thread in SQLite':28}{'ms':>8}")
        for count in rounds:
            reads_table(count, given.repeats)
        return
    print(f"{'saver':8}{'rounds':>6}  {'agent':18}{'ms':>7} {'':14}{'last':>7}  "
          f"{'ratio  last':>12}  {'bytes':>11}")  # fmt: skip
    for saver in given.savers.split(","):
        for count in rounds:
            table(saver, count, given.repeats)


if __name__ == "__main__":
    main()
