"""The main job on a real tree: `headway run` over HTTP repairs a bug planted in more-itertools.

    python bench/real_project.py prepare DIR    # fetches the sdist, makes its .venv, plants the bug
    python bench/real_project.py run DIR        # six model calls over loopback HTTP

The model's place is taken by a policy behind an OpenAI-compatible server: this shows that sandbox,
sizes and orchestration hold on a real project, not that anything can repair programs.
"""

import argparse
import json
import os
import subprocess
import sys
import tarfile
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests"))

from openai_server import OpenAIServer, Reply, Request, calls, says

PROJECT = "more-itertools==10.8.0"
BROKEN = ("                if len(chunk) != n:", "                if len(chunk) > n:")
"""In `chunked(strict=True)`: a last chunk that is too short no longer raises."""

TESTS = ".venv/bin/python -m pytest -q tests"


def prepare(folder: Path) -> None:
    """Sdist, virtual environment with pytest inside the workspace, and the bug."""
    folder.mkdir(parents=True, exist_ok=True)
    pip = ["uv", "run", "--no-project", "--with", "pip", "python", "-m", "pip"]
    options = ["--no-deps", "--no-binary", ":all:", "-d", str(folder)]
    subprocess.run([*pip, "download", *options, PROJECT], check=True)
    with tarfile.open(next(folder.glob("*.tar.gz"))) as archive:
        archive.extractall(folder, filter="data")
    workspace = _workspace(folder)
    subprocess.run(["uv", "venv", "--quiet", str(workspace / ".venv")], check=True)
    python = str(workspace / ".venv" / "bin" / "python")
    subprocess.run(["uv", "pip", "install", "--quiet", "--python", python, "pytest"], check=True)
    module = workspace / "more_itertools" / "more.py"
    source = module.read_text()
    assert source.count(BROKEN[0]) == 1
    module.write_text(source.replace(*BROKEN))
    print(f"prepared {workspace}")


def run(folder: Path) -> None:
    """One `headway run`, and what it took."""
    workspace = _workspace(folder)
    with OpenAIServer(policy) as server:
        environment = {
            **os.environ,
            "OPENAI_API_KEY": "loopback",
            "OPENAI_BASE_URL": server.url,
            "HEADWAY_HOME": str(folder / "home"),
        }
        command = [
            sys.executable, "-m", "headway_cli", "run",
            "Find why the tests fail and fix it.", "-C", str(workspace), "--model", "openai:policy",
            "--protect", "tests", "--check", TESTS, "--json", "--limit", "tool_timeout=600",
        ]  # fmt: skip
        started = time.monotonic()
        done = subprocess.run(command, env=environment, stdout=subprocess.PIPE, check=False)
        seconds = time.monotonic() - started
        requests = len(server.requests)
        largest = max(len(json.dumps(request.body)) for request in server.requests)
    result = json.loads(done.stdout)
    files = sum(1 for path in workspace.rglob("*") if path.is_file())
    print(f"files in the workspace   {files}")
    end = f"{result['status']}, verified {result['verified']}"
    print(f"exit code                {done.returncode} ({end})")
    print(f"model calls over HTTP    {requests}, the largest request {largest:,} bytes")
    print(f"files changed            {[change['path'] for change in result['files']]}")
    print(f"seconds                  {seconds:.1f}")


def policy(request: Request) -> Reply:
    """Run the tests, look for the function, read it, mend it, run the tests, answer."""
    results = [m["content"] for m in request.messages if m["role"] == "tool"]
    steps: list[Reply] = [
        calls("bash", "call_1", command=f"{TESTS} 2>&1 | tail -n 40"),
        calls("bash", "call_2", command="grep -n 'def chunked(' -A 32 more_itertools/more.py"),
        calls("read_file", "call_3", path="more_itertools/more.py", start=_line(results), limit=40),
        calls(
            "edit", "call_4", path="more_itertools/more.py", old_text=BROKEN[1], new_text=BROKEN[0]
        ),
        calls("bash", "call_5", command=f"{TESTS} 2>&1 | tail -n 5"),
        says("chunked(strict=True) accepted a last chunk that was too short; it raises again."),
    ]
    return steps[min(len(results), len(steps) - 1)]


def _line(results: list[Any]) -> int:
    if len(results) < 2:
        return 1
    return int(str(json.loads(results[1])["stdout"]).partition(":")[0])


def _workspace(folder: Path) -> Path:
    return next(path for path in folder.iterdir() if path.is_dir() and path.name.startswith("more"))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=("prepare", "run"))
    parser.add_argument("folder", type=Path)
    given = parser.parse_args()
    (prepare if given.what == "prepare" else run)(given.folder)


if __name__ == "__main__":
    main()
