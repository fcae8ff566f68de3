"""Kills a run again and again, resumes it each time, and looks at what is left.

Usage: kill_runs.py FOLDER lines STEP    dies STEP executed lines of our code later each time
       kill_runs.py FOLDER random KILLS  dies at a random instant, and so does its first resume
Prints one JSON object; `test_crash.py` reads it.
"""

import asyncio
import json
import os
import random
import shutil
import signal
import sys
import threading
import time
import uuid
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

from langchain_core.messages import AIMessage, BaseMessage, ToolCall, ToolMessage

import headway
import headway_tools
from headway import arun_agent, run_agent, workspace_tools
from headway.build import make_parts
from headway.context import Context
from headway.history import problems
from headway.request import build as build_request
from headway.testing import PolicyModel, spoken
from headway_debugger.threads import open_thread
from headway_tools.errors import HeadwayError
from headway_tools.home import Home
from headway_tools.replace import is_temporary

OURS = tuple(str(Path(package.__file__ or "").parent) for package in (headway, headway_tools))
THREAD = "t"
NOT_BEGUN = "no thread"


class Case:
    """A run that pays outside its workspace and writes inside, each call once."""

    def __init__(self, folder: Path, number: int) -> None:
        self.folder = folder / str(number)
        self.folder.mkdir()
        self.number = number
        self.token = f"headway-kill-{uuid.uuid4().hex}"
        self.workspace, self.home = self.folder / "work", Home(self.folder / "home")
        self.paid = self.folder / "paid"
        self.workspace.mkdir()
        self.paid.touch()
        (self.workspace / "a.txt").write_text("one\ntwo\n")

    def script(self) -> list[list[ToolCall]]:
        def call(name: str, id: str, **args: Any) -> ToolCall:
            return ToolCall(name=name, args=args, id=id, type="tool_call")

        def bash(id: str) -> ToolCall:
            return call("bash", id, command=f"echo {id} >> log # {self.token}")

        return [
            [call("pay", "p0", what="p0"), bash("b0")],
            [call("edit", "e0", path="a.txt", old_text="two", new_text="2")],
            [call("read_file", "r0", path="a.txt"), bash("b1"), call("pay", "p1", what="p1")],
        ]

    def options(self) -> dict[str, Any]:
        script = self.script()

        def policy(messages: list[BaseMessage], tools: list[dict[str, Any]]) -> AIMessage:
            said = spoken(messages)
            return AIMessage("", tool_calls=script[said]) if said < 3 else AIMessage("all done")

        def pay(what: str) -> str:
            """Pay once."""
            with self.paid.open("a") as file:
                file.write(f"{what}\n")
            return "paid"

        return {
            "model": PolicyModel(policy=policy),
            "tools": [*workspace_tools(), pay],
            "workspace": self.workspace,
            "home": self.home.path,
            "thread_id": THREAD,
        }

    def work(self, task: str | None) -> str:
        """Run or resume, by turns synchronously and asynchronously; the status."""
        if self.number % 2:
            return str(asyncio.run(arun_agent(task, **self.options())).status)
        return str(run_agent(task, **self.options()).status)

    def resume(self) -> str:
        """Go on as a user would: with the task again where nothing was kept of the run, not at
        all where it has ended."""
        try:
            return self.work(None)
        except HeadwayError as error:
            if "is completed" in str(error):
                return "completed"
            if "nothing to go on with" not in str(error):
                raise
            return self.work("the task")

    def look(self) -> list[str]:
        """What is wrong with a thread that a killed run left."""
        if not self.home.thread(THREAD).record.exists():
            return []
        try:
            with open_thread(self.home, THREAD) as thread:
                values: Any = thread.state(thread.node())
        except HeadwayError as error:
            return [] if NOT_BEGUN in str(error) else [f"it does not open: {error}"]
        if not values.get("messages"):
            return []
        parts = make_parts(None, tools=None, name="headway", options={})
        sent = build_request(values, parts=parts, context=Context())
        return problems(sent.messages)

    def faults(self, status: str) -> list[str]:
        """What is wrong after the resume has ended."""
        found = [] if status == "completed" else [f"it ended with {status}"]
        with open_thread(self.home, THREAD) as thread:
            messages = thread.state(thread.node())["messages"]
        found += self.look()
        found += self._repeated(messages)
        if (self.workspace / "a.txt").read_text() not in ("one\n2\n", "one\ntwo\n"):
            found.append("a.txt is torn")
        found += [f"{path} is left" for path in self.workspace.iterdir() if is_temporary(path.name)]
        return found

    def _repeated(self, messages: list[BaseMessage]) -> list[str]:
        """Calls that ran twice, or did not run though nobody was told that they may not have."""
        log = self.workspace / "log"
        ran = self.paid.read_text().split() + (log.read_text().split() if log.exists() else [])
        told = {m.tool_call_id: str(m.text) for m in messages if isinstance(m, ToolMessage)}
        found = []
        for call in ("p0", "p1", "b0", "b1"):
            uncertain = "interrupted" in told.get(call, "")
            if ran.count(call) > 1 or (ran.count(call) == 0 and not uncertain):
                found.append(f"{call} ran {ran.count(call)} times, told: {told.get(call)!r}")
        return found


def left_processes(token: str) -> int:
    """Processes that carry out a command of the killed run."""
    count = 0
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            count += token.encode() in (folder / "cmdline").read_bytes()
        except OSError:
            continue
    return count


def die_at_line(number: int) -> Callable[[], None]:
    def arm() -> None:
        count = 0

        def trace(frame: FrameType, event: str, _: object) -> object:
            nonlocal count
            if not frame.f_code.co_filename.startswith(OURS):
                return None
            count += event == "line"
            if count >= number:
                os.kill(os.getpid(), signal.SIGKILL)
            return trace

        threading.settrace(trace)  # type: ignore[arg-type]
        sys.settrace(trace)  # type: ignore[arg-type]

    return arm


def in_child(arm: Callable[[], None], work: Callable[[], None], seconds: float | None) -> bool:
    """Whether a child that does `work` lived to its end; after `seconds` it is killed."""
    child = os.fork()
    if child == 0:
        code = 1
        try:
            arm()
            work()
            code = 0
        finally:
            sys.stderr.flush()
            os._exit(code)
    if seconds is not None:
        time.sleep(seconds)
        os.kill(child, signal.SIGKILL)
    status = os.waitpid(child, 0)[1]
    assert os.WIFSIGNALED(status) or os.WEXITSTATUS(status) == 0, "the child failed by itself"
    return os.WIFEXITED(status)


def examined(case: Case, again: float | None = None) -> list[str]:
    """Look at what a kill left, resume (with `again`: be killed once more first), look again."""
    report = case.folder / "report"

    def finish() -> None:
        found = case.look()
        found += case.faults(case.resume())
        report.write_text(json.dumps(found))

    if again is not None:
        in_child(lambda: None, lambda: print(case.resume(), file=sys.stderr), again)  # noqa: T201
    deadline = time.monotonic() + 10
    while left_processes(case.token) and time.monotonic() < deadline:
        time.sleep(0.01)
    found = ["a process is left"] if left_processes(case.token) else []
    in_child(lambda: None, finish, None)
    found += json.loads(report.read_text())
    shutil.rmtree(case.folder)
    return found


def each_line(folder: Path, step: int) -> tuple[int, list[str]]:
    kills, faults = 0, []
    while True:
        case = Case(folder, kills)
        line = 1 + kills * step
        lived = in_child(die_at_line(line), lambda case=case: case.work("the task"), None)  # type: ignore[misc]
        faults += [f"line {line}: {fault}" for fault in examined(case)]
        if lived:
            return kills, faults
        kills += 1


def at_random(folder: Path, kills: int) -> tuple[int, list[str]]:
    chance = random.Random(kills)
    case = Case(folder, kills)
    started = time.monotonic()
    in_child(lambda: None, lambda: case.work("the task"), None)  # type: ignore[arg-type, return-value]
    whole = time.monotonic() - started
    faults = [f"unharmed: {fault}" for fault in examined(case)]
    for number in range(kills):
        case = Case(folder, number)
        seconds = chance.uniform(0, whole)
        in_child(lambda: None, lambda case=case: case.work("the task"), seconds)  # type: ignore[misc]
        found = examined(case, chance.uniform(0, whole))
        faults += [f"kill {number}, after {seconds:.4f} s: {fault}" for fault in found]
    return kills, faults


def main(folder: Path, mode: str, number: int) -> None:
    kills, faults = (each_line if mode == "lines" else at_random)(folder, number)
    print(json.dumps({"kills": kills, "faults": faults}))  # noqa: T201 - this program's output


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2], int(sys.argv[3]))
