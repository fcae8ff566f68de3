"""The caller's command, run outside the model's reach, and what a green result is worth.

It runs in a fresh sandbox, with protected files as they were at the start. Where the run changed
what can turn a check green without mending anything (a conftest.py, a Makefile, the tests), it
must be green, too, on a copy in which that is as it was at the start.
"""

import os
import re
import shlex
import shutil
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath
from typing import Final

from headway.commands import plain_words
from headway.influence import bends, is_test, starts_python
from headway.outcome import CheckReport
from headway.progress import best_count
from headway.state import State
from headway_tools.env import ToolEnv
from headway_tools.errors import HeadwayError, SandboxError
from headway_tools.sandbox import Cancel, CommandResult, open_sandbox
from headway_tools.snapshots import CACHES, DEPENDENCIES, Change
from headway_tools.storage import WorkspaceStates

READ_BYTES: Final = 1 << 20
"""Of stdout and of stderr each in which failures are counted."""

PRINTED_BYTES: Final = 64 << 20
"""A check that prints more is ended, and red."""

MOST_JUDGED: Final = 8_000
"""Characters at the end of the output in which a check says what it lacks."""

_LACKS: Final = re.compile(
    r"No module named|ImportError|fixture '[^']*' not found|No rule to make target|No targets|"
    r"[Nn]o such file|not found|ENOENT|Missing script|Cannot find module|no tests ran|"
    r"NO TESTS RAN|Ran 0 tests|[Nn]o test files|[Nn]o tests found"
)
"""In the output of a check that lacks something, rather than one that found a fault."""


@dataclass(frozen=True)
class Command:
    """The command and where it runs. `deadline` (of `time.monotonic`) holds for all its runs."""

    text: str
    env: ToolEnv
    deadline: float
    counters: tuple[str, ...] = ()
    """Further counters of failures, as in `ProgressSettings`."""
    cancel: Cancel | None = None

    @property
    def root(self) -> Path:
        """The workspace's real folder; `HeadwayError` where there is none to run in."""
        if self.env.workspace is None or self.env.sandbox is None:
            raise HeadwayError("a check needs a workspace: pass workspace= (or -C)")
        return self.env.workspace.root

    def run(self, root: Path) -> CheckReport:
        """Run in `root`, with a fresh private home: nothing that an earlier command left in HOME
        or /tmp takes part."""
        assert self.env.sandbox is not None
        policy = self.env.sandbox.policy
        limits = replace(policy.limits, output_bytes=READ_BYTES, printed_bytes=PRINTED_BYTES)
        private = Path(tempfile.mkdtemp(prefix="headway-check-"))
        policy = replace(policy, private=private, root=root, limits=limits)
        try:
            result = open_sandbox(policy, self.env.sandbox.kind).run(
                self.text,
                timeout=max(0.05, self.deadline - time.monotonic()),
                cancel=self.cancel,
            )
        except SandboxError as error:
            raise HeadwayError(f"the check could not be run: {error}") from error
        finally:
            shutil.rmtree(private, ignore_errors=True)
        return self._report(result)

    def run_without(self, paths: Sequence[str], store: WorkspaceStates, start: str) -> CheckReport:
        """Run on a copy in which `paths` are as in the snapshot `start`, absent where it has none.
        Without `paths` there is nothing to put back, and the workspace itself will do."""
        if not paths:
            return self.run(self.root)
        with tempfile.TemporaryDirectory(prefix="headway-check-") as folder:
            copy = Path(folder) / "workspace"
            store.extract(store.take(self.root), copy, original=self.root)
            store.restore(start, copy, only=frozenset(paths).__contains__)
            for path in paths:
                if _in_dependencies(path):
                    (copy / path).unlink(missing_ok=True)
            return self.run(copy)

    def _report(self, result: CommandResult) -> CheckReport:
        output = "\n".join(filter(None, (result.stdout.strip(), result.stderr.strip())))
        output += "\n(the check did not end in time)" if result.timed_out else ""
        output += "\n(the check printed too much)" if result.flooded else ""
        passed = result.exit_code == 0
        return CheckReport(
            passed=passed,
            command=self.text,
            exit_code=result.exit_code,
            count=0 if passed else best_count(output, self.counters),
            output=self.env.mask(output),
        )


def missing_program(command: Command) -> str:
    """The program of a plain command that the sandbox does not have. Empty where it has it, and
    where only running can tell: shell syntax, a path (the run may make the file)."""
    words = plain_words(command.text)
    if not words or "/" in words[0]:
        return ""
    found = replace(command, text=f"command -v {shlex.quote(words[0])}").run(command.root)
    return "" if found.passed or found.exit_code is None else words[0]


@dataclass(frozen=True)
class Changed:
    """What a run changed, as far as a check may hang on it: paths by what they are."""

    protected: tuple[str, ...] = ()
    """Changed in spite of that; every run of the check has them as at the start."""
    bending: tuple[str, ...] = ()
    tests: tuple[str, ...] = ()
    """Tests of the start that were changed or deleted."""
    new_tests: tuple[str, ...] = ()
    packages: tuple[str, ...] = ()
    """Files in folders of dependencies."""
    caches: tuple[str, ...] = ()
    """Files in caches: a forged one must not stand for its source."""

    @property
    def doubtful(self) -> tuple[str, ...]:
        return (*self.bending, *self.tests)


def check_command(command: Command, state: State) -> tuple[CheckReport, list[str]]:
    """The command's verdict, and warnings for a person.

    A green result that does not come without the doubtful changes is red where the check then
    finds faults. Where it then lacks something, or tests were changed (both may be the task), it
    stays green and proves nothing: `rests_on` names the files.
    """
    store, start = command.env.snapshots, state.get("hw_run", {}).get("files_at_start", "")
    if store is None or not start or not store.holds(start):
        return command.run(command.root), []
    changed = what_changed(command, state, store)
    for path in changed.caches:
        (command.root / path).unlink(missing_ok=True)
    report = command.run_without(changed.protected, store, start)
    if not report.passed:
        return report, _warnings(changed)
    tries = [(*changed.protected, *changed.doubtful)] if changed.doubtful else []
    if tries and changed.new_tests:
        tries.append((*tries[0], *changed.new_tests))
    again = report
    for paths in tries:
        again = command.run_without(paths, store, start)
        if again.passed:
            break
    return _verdict(report, again, changed), _warnings(changed)


def _verdict(report: CheckReport, again: CheckReport, changed: Changed) -> CheckReport:
    if again.passed:
        return report
    if changed.tests or again.exit_code is None or _LACKS.search(again.output[-MOST_JUDGED:]):
        return report.model_copy(update={"rests_on": list(changed.doubtful)})
    said = (
        f"The check is green only with {named(changed.doubtful)}, which can decide it without "
        f"mending anything; with that as it was at the start it fails:\n{again.output}"
    )
    return again.model_copy(update={"output": said})


def what_changed(command: Command, state: State, store: WorkspaceStates) -> Changed:
    """The changes of this run in the workspace as it stands now, sorted."""
    now = store.take(command.root)
    changes = list(command.env.changes(state.get("hw_run", {}).get("files_at_start"), now))
    protected = tuple(c.path for c in changes if _is_protected(command, c.path))
    free = [change for change in changes if change.path not in protected]
    newer = _left_out(command.root, state, store, now)
    packages = [path for path in newer if _in_dependencies(path) and not _in_cache(path)]
    return Changed(
        protected=protected,
        bending=(*(c.path for c in free if bends(c.path)), *filter(starts_python, packages)),
        tests=tuple(c.path for c in free if _is_test(c) and c.kind != "added"),
        new_tests=tuple(c.path for c in free if _is_test(c) and c.kind == "added"),
        packages=tuple(packages),
        caches=tuple(path for path in newer if _in_cache(path)),
    )


def _is_protected(command: Command, path: str) -> bool:
    workspace = command.env.workspace
    own = ".git" in PurePosixPath(path).parts
    return workspace is not None and not own and workspace.is_protected(path)


def _is_test(change: Change) -> bool:
    entry = change.after or change.before
    return (
        is_test(change.path)
        and not bends(change.path)
        and entry is not None
        and entry.kind != "folder"
    )


def _in_dependencies(path: str) -> bool:
    return any(f"/{folder}/" in f"/{path}/" for folder in DEPENDENCIES)


def _in_cache(path: str) -> bool:
    return any(f"/{folder}/" in f"/{path}/" for folder in CACHES)


def _left_out(root: Path, state: State, store: WorkspaceStates, snapshot: str) -> list[str]:
    """Files changed in this run in folders that snapshots leave out, by the time of their last
    change of status, which commands cannot set. On a branch that time says nothing: its folder
    was made later than its run began."""
    began = state.get("hw_run", {}).get("began")
    if began is None or state.get("hw_branch"):
        return []
    folders = [note.path for note in store.notes(snapshot) if note.reason == "excluded"]
    return [
        path.relative_to(root).as_posix()
        for folder in folders
        for above, _, names in os.walk(root / folder)
        for path in (Path(above, name) for name in names)
        if path.lstat().st_ctime > began
    ]


def _warnings(changed: Changed) -> list[str]:
    found = []
    if changed.protected:
        kept = named(changed.protected)
        found.append(f"protected but changed, checked as at the start: {kept}")
    if changed.packages:
        found.append(f"the check may use packages changed in this run: {named(changed.packages)}")
    return found


def named(paths: Sequence[str], most: int = 5) -> str:
    """The first `most` paths as text."""
    more = f" and {len(paths) - most} more" if len(paths) > most else ""
    return ", ".join(paths[:most]) + more
