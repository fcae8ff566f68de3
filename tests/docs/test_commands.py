"""Every command that README, docs and `--help` show is run, on a thread made for it."""

import json
import re
import shlex
import tomllib
from pathlib import Path

import pytest

from headway.status import exit_code
from headway_cli.help_text import EXAMPLE, EXAMPLES
from headway_cli.main import main
from openai_server import OpenAIServer, says

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
SHELL = re.compile(r"^```bash\n(.*?)^```", flags=re.S | re.M)

ELSEWHERE = {
    "export": "it sets a variable",
    "pip": "test_the_extras_exist, or a package of others",
    "uv run pytest": ".ci/run",
    "uv run langgraph dev": "tests/headway/serving",
    "langgraph dev": "tests/headway/serving",
    "uvicorn": "bench/aegra.sh",
    "llama-server": "needs llama.cpp and a model",
}
"""Commands of others, and where they are run."""

TEST = """\
import unittest
class Test(unittest.TestCase):
    def test_it(self): pass
"""
EDITS = [{"name": "bash", "args": {"command": f"echo {n} >> a{n}.txt"}} for n in range(4)]
QUESTION = {"name": "ask_user", "args": {"question": "Which one?"}}


def shown() -> list[str]:
    """Every line of the examples in `--help` and of the blocks marked as bash."""
    blocks = [EXAMPLES.partition("\n")[2], *EXAMPLE.values()]
    blocks += [block for page in PAGES for block in SHELL.findall(page.read_text("utf-8"))]
    joined = "\n".join(blocks).replace("\\\n", " ")
    lines = [re.sub(r" +", " ", line).strip() for line in joined.splitlines()]
    return [line for line in dict.fromkeys(lines) if line]


def without_settings(line: str) -> str:
    return re.sub(r"^([A-Z_]+=\S+ )+", "", line)


def ours(line: str) -> str:
    """The line from `headway` on, empty where it is none of headway's."""
    plain = without_settings(line).removeprefix("uv run ")
    return plain if plain.startswith("headway ") else ""


def world(line: str, monkeypatch: pytest.MonkeyPatch, folder: Path, server: str) -> None:
    """What the command needs: a project, a server, and thread NAME as far as its words tell."""
    project = folder / "path" / "to" / "project"
    for place in (project, folder / "path"):
        (place / "tests").mkdir(parents=True)
        (place / "tests" / "test_it.py").write_text(TEST)
    monkeypatch.chdir(folder)
    monkeypatch.setenv("OPENAI_BASE_URL", server)
    monkeypatch.setenv("OPENAI_API_KEY", "none")
    monkeypatch.setenv("HEADWAY_MODEL", "openai:MODEL")
    if re.match(r"headway (?:demo|run|threads|doctor)\b", line):
        return
    waits = [QUESTION] * ("--answer" in line)
    waits += EDITS[:1] * ("--approve" in line or "--reject" in line)
    calls = [waits] if waits else [[edit] for edit in EDITS]
    replies = [*({"tool_calls": one} for one in calls), *[{"content": "Done."}] * 3]
    script = folder / "script.jsonl"
    script.write_text("".join(json.dumps(reply) + "\n" for reply in replies))
    options = ["--ask", "edits"] if waits else []
    options += ["--copy"] if line.startswith("headway apply") else []
    limited = line.startswith("headway resume") and "--limit" in line
    options += ["--limit", "model_calls=3"] if limited else []
    made = ["run", "add a line", "-C", str(project), "--thread", "NAME", *options]
    assert main([*made, "--model", f"scripted:{script}"]) == exit_code(
        "needs_approval" if waits else "limit" if limited else "completed"
    )
    if "b2" in line:
        assert main(["fork", "NAME@6"]) == 0


def test_there_is_something_to_run() -> None:
    assert len([line for line in shown() if ours(line)]) > 25


@pytest.mark.parametrize("line", [line for line in shown() if ours(line)])
def test_a_command_that_is_shown_runs(
    line: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    with OpenAIServer([says("Final Answer: Done.")] * 3) as server:
        world(ours(line), monkeypatch, tmp_path, server.url)
        assert main(shlex.split(ours(line), comments=True)[1:]) == 0


@pytest.mark.parametrize("line", [line for line in shown() if not ours(line)])
def test_a_command_of_others_is_known(line: str) -> None:
    assert any(without_settings(line).startswith(start) for start in ELSEWHERE)


def test_the_extras_exist() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    named = {extra for page in PAGES for extra in re.findall(r"'\.\[(\w+)\]'", page.read_text())}
    assert named
    assert named <= set(project["optional-dependencies"])
