"""A store that is full, closed, damaged, strict or shared: one clear error, nothing else harmed."""

import json
import os
import sqlite3
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import pytest

from headway import run_agent
from headway_debugger.branching import fork_thread
from headway_debugger.rewind import restore_thread
from headway_debugger.threads import open_thread
from headway_tools.errors import HeadwayError
from headway_tools.home import Home
from policies import bash, call, replies

EDIT = call("edit", "e1", path="a.txt", old_text="world", new_text="there")
HERE = Path(__file__).parent
PATHS = os.pathsep.join(map(str, [HERE.parent, HERE]))


def python(*args: str, **env: str) -> str:
    """What a Python process prints; its errors fail the test."""
    found = subprocess.run(
        [sys.executable, "-W", "error", *args],
        env={**os.environ, "PYTHONPATH": PATHS, **env},
        capture_output=True,
        text=True,
        check=False,
    )
    assert found.returncode == 0, found.stderr
    assert found.stderr == ""
    return found.stdout


@pytest.mark.parametrize(
    ("fault", "says"), [("full", "disk I/O error"), ("read_only", "Permission denied")]
)
def test_where_nothing_can_be_written_a_run_is_one_error_and_goes_on_later(
    fault: str, says: str
) -> None:
    with tempfile.TemporaryDirectory() as folder:  # pytest's own is closed to another user
        report = json.loads(python(str(HERE / "store_faults.py"), folder, fault))
    assert report["started"] == "completed"
    assert report["ended"].startswith("HeadwayError: ")
    assert says in report["ended"]
    assert "\n" not in report["ended"]
    assert (report["kept"], report["after"]) == (True, "completed")


@pytest.fixture
def home(own_home: Path, workspace: Path) -> Home:
    for thread in ("t", "other"):
        model = replies(EDIT if thread == "t" else bash("true"), bash("echo 1 > b.txt"), "done")
        done = run_agent("do it", model=model, workspace=workspace, thread_id=thread)
        assert done.status == "completed"
    return Home(own_home)


def test_a_damaged_row_is_one_error_and_only_of_its_step(home: Home, workspace: Path) -> None:
    with open_thread(home, "t") as thread:
        tip, earlier = thread.node(), thread.tree.branches["main"].nodes[6]
    with sqlite3.connect(home.checkpoints) as db:
        db.execute("UPDATE checkpoints SET checkpoint = x'c1' WHERE checkpoint_id = ?", (tip.id,))
    db.close()
    with open_thread(home, "t") as thread:
        with pytest.raises(HeadwayError, match=f"row of checkpoint {tip.id} is damaged"):
            thread.state(tip)
        assert fork_thread(thread, earlier, "saved") == "saved"
    with pytest.raises(HeadwayError, match="row of thread t is damaged"):
        run_agent("x", model=replies("y"), workspace=workspace, thread_id="t", branch="main")
    saved = replies(EDIT, "went on")
    went = run_agent(None, model=saved, workspace=workspace, thread_id="t", branch="saved")
    other = run_agent(
        "more", model=replies("", "", "", "fine"), workspace=workspace, thread_id="other"
    )
    assert (went.answer, other.answer) == ("went on", "fine")


def test_a_damaged_object_is_one_error_before_a_file_is_touched(
    home: Home, workspace: Path
) -> None:
    [store] = home.thread("t").snapshots.glob("*/objects.sqlite")
    with sqlite3.connect(store) as db:
        db.execute("UPDATE objects SET data = x'0042'")
    db.close()
    before = {path.name: path.read_bytes() for path in workspace.iterdir()}
    with open_thread(home, "t") as thread:
        first = thread.tree.branches["main"].nodes[2]
        for verb in (restore_thread, fork_thread):
            with pytest.raises(HeadwayError, match="damaged"):
                verb(thread, first)
        assert {path.name: path.read_bytes() for path in workspace.iterdir()} == before
        assert list(thread.again().tree.branches) == ["main"]


STRICT = """
import json, sys
from headway import run_agent
from headway_debugger.threads import open_thread
from headway_tools.home import Home, default_home
from policies import bash, call, replies
from pathlib import Path
def kinds(value):
    if isinstance(value, dict): return {k: kinds(v) for k, v in value.items()}
    return [kinds(v) for v in value] if isinstance(value, list) else type(value).__name__
model = replies(call("ask_user", "q1", question="Which?"), bash("echo 1 > b.txt"), "done")
options = dict(model=model, workspace=Path(sys.argv[1]), thread_id="s", interactive=True)
asked = run_agent("do it", **options)
answer = [{"type": "respond", "message": "this"}]
done = run_agent(None, decisions=answer, **options)
with open_thread(Home(default_home()), "s") as thread:
    states = [kinds(thread.state(node)) for node in thread.tree.nodes.values()]
print(json.dumps([asked.status, done.status, states]))
"""


def test_strict_serialisation_warns_of_nothing_and_keeps_all_types(tmp_path: Path) -> None:
    seen = []
    for strict in ("false", "true"):
        folder = tmp_path / strict
        (folder / "work").mkdir(parents=True)
        env = {"HEADWAY_HOME": str(folder / "home"), "LANGGRAPH_STRICT_MSGPACK": strict}
        seen.append(json.loads(python("-c", STRICT, str(folder / "work"), **env)))
    assert seen[0] == seen[1]
    assert seen[0][:2] == ["needs_approval", "completed"]


MANY = """
import sys
import tempfile
from pathlib import Path
from headway import run_agent
from policies import bash, each_time
name = sys.argv[1]
model = each_time(lambda n: bash(f"echo {n}", f"c{n}") if n < 20 else "done")
from headway.progress import ProgressSettings
result = run_agent("count", model=model, workspace=Path(sys.argv[2]), thread_id=name,
                   progress=ProgressSettings(enabled=False))
print(result.status, result.usage.tool_calls)
"""


def test_two_processes_write_to_one_database_and_lose_nothing(
    own_home: Path, tmp_path: Path
) -> None:
    running: list[subprocess.Popen[str]] = []
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        command = [sys.executable, "-c", MANY, name, str(tmp_path / name)]
        environment = {**os.environ, "PYTHONPATH": PATHS}
        running.append(
            subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True)
        )
    assert [process.communicate()[0] for process in running] == ["completed 20\n"] * 2
    for name in ("one", "two"):
        with open_thread(Home(own_home), name) as thread:
            written = [str(m.text) for m in thread.state(thread.node())["messages"]]
        assert sum('"stdout"' in text for text in written) == 20


def git(folder: Path, *args: str) -> str:
    return subprocess.check_output(["git", "-C", str(folder), *args], text=True).strip()


@pytest.fixture
def repository(workspace: Path) -> Path:
    git(workspace, "init", "-q", "-b", "main")
    git(workspace, "config", "user.email", "a@example.org")
    git(workspace, "config", "user.name", "A")
    for number in range(3):
        (workspace / "a.txt").write_text(f"hello\nworld {number}\n")
        git(workspace, "add", "-A")
        git(workspace, "commit", "-q", "-m", f"commit {number}")
    return workspace


@pytest.mark.parametrize(
    "commands",
    [
        "echo new > n.txt && git add n.txt && git commit -q -m agents",
        "git reset -q --hard HEAD~2",
        "git checkout -q -b side HEAD~1 && echo s > s.txt && git add s.txt && "
        "git commit -q -m side && git rebase -q main",
    ],
    ids=["commit", "reset", "rebase"],
)
def test_what_an_agent_does_with_git_is_taken_back_and_can_be_returned_to(
    own_home: Path, repository: Path, commands: str
) -> None:
    (repository / "a.txt").write_text("hello\nuncommitted\n")
    if "rebase" in commands or "reset" in commands:
        git(repository, "stash", "-q")

    def look() -> tuple[Any, ...]:
        files = {p.name: p.read_text() for p in repository.iterdir() if p.is_file()}
        log, status = git(repository, "log", "--format=%H"), git(repository, "status", "-s")
        return log, status, files, git(repository, "branch"), git(repository, "stash", "list")

    before = look()
    result = run_agent(
        "commit it", model=replies(bash(commands), "done"), workspace=repository, thread_id="g"
    )
    assert json.loads(result.steps[0].observation or "")["exit_code"] == 0, result.steps[0]
    after = look()
    assert after != before
    with open_thread(Home(own_home), "g") as thread:
        first, last = thread.tree.branches["main"].nodes[2], thread.node()
        restore_thread(thread, first)
        assert look() == before
        assert git(repository, "fsck", "--no-dangling") == ""
        restore_thread(thread.again(), last)
        assert look() == after
        branch = fork_thread(thread.again(), first)
        assert git(thread.folder.branch(branch), "log", "--format=%H") == before[0]
