"""Runs that do something random with files, and the truth about them by eyes of their own."""

import random
import shlex
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from langchain_core.messages import AIMessage, BaseMessage, ToolCall
from trees_support import Facts, describe

from headway import run_agent
from headway.testing import PolicyModel, spoken
from headway_tools.home import Home

NAMES = ["a", "b.py", "c d", "ü", ".hidden", "new\nline", "-rf", "d/e", "d/f/g", "h/i"]
THREAD = "t"


@dataclass
class RandomRun:
    """One thread of one or two runs below `folder`, made from one seed."""

    folder: Path
    seed: int
    seen: list[Facts] = field(default_factory=list)
    """The workspace when the model was asked for its nth reply, and at the very end."""

    def __post_init__(self) -> None:
        self.random = random.Random(self.seed)
        self.workspace = self.folder / "work"
        self.home = Home(self.folder / "home")

    def make(self) -> "RandomRun":
        self.workspace.mkdir(parents=True)
        (self.workspace / "d").mkdir()
        (self.workspace / "start.txt").write_text("one\ntwo\n")
        (self.workspace / "empty").mkdir(mode=0o700)
        turns = [self._turn(n) for n in range(self.random.randint(3, 6))]
        for task in ("first", "second")[: self.random.randint(1, 2)]:
            script = [*turns, AIMessage(f"done {task}")]
            self._run(task, script)
        self.seen.append(describe(self.workspace))
        return self

    def _run(self, task: str, script: list[AIMessage]) -> None:
        before = len(self.seen)

        def policy(messages: list[BaseMessage], tools: list[dict[str, Any]]) -> AIMessage:
            self.seen.append(describe(self.workspace))
            return script[spoken(messages) - before]

        result = run_agent(
            task,
            model=PolicyModel(policy=policy),
            workspace=self.workspace,
            home=self.home.path,
            thread_id=THREAD,
        )
        assert result.status == "completed", result

    def truth(self, values: dict[str, Any], following: tuple[str, ...]) -> Facts:
        """The files that belong to a state, from how many replies it holds and what runs next."""
        replies = sum(isinstance(m, AIMessage) for m in values.get("messages", []))
        waiting = following in (("tools",), ("verify",))
        return self.seen[replies - 1 if waiting else replies]

    def _turn(self, number: int) -> AIMessage:
        calls = [self._call(number, at) for at in range(self.random.randint(1, 3))]
        return AIMessage("", tool_calls=calls)

    def _call(self, number: int, at: int) -> ToolCall:
        name = self.random.choice(["bash", "bash", "bash", "edit", "read_file"])
        args: dict[str, Any] = {
            "bash": lambda: {"command": "; ".join(self._command() for _ in range(3))},
            "edit": self._edit,
            "read_file": lambda: {"path": self._path()},
        }[name]()
        return ToolCall(name=name, args=args, id=f"c{self.seed}-{number}-{at}", type="tool_call")

    def _path(self) -> str:
        return self.random.choice(NAMES)

    def _edit(self) -> dict[str, Any]:
        if self.random.random() < 0.5:
            return {"path": self._path(), "old_text": "", "new_text": f"{self.random.random()}\n"}
        return {"path": "start.txt", "old_text": "t", "new_text": self.random.choice("tT")}

    def _command(self) -> str:
        """One change by the shell; it may fail, then nothing changes."""
        one, two = (shlex.quote(f"./{self._path()}") for _ in range(2))
        mode = self.random.choice(["644", "755", "600", "4711", "000", "2755"])
        return self.random.choice(
            [
                f"mkdir -p $(dirname {one}) && echo {self.random.random()} > {one}",
                f"echo more >> {one}",
                f"head -c {self.random.choice([0, 3_000, 70_000])} /dev/urandom > {one}",
                f"rm -rf {one}",
                f"mv {one} {two}",
                f"ln {one} {two}",
                f"ln -s {self.random.choice(['a', '../..', '/etc/passwd', '.'])} {one}",
                f"chmod {mode} {one}",
                f"mkdir -p {one}",
                f"rm -rf d; mv h {two}",
                f"mkfifo {one}",
                f"cp -a {one} {two}",
            ]
        )
