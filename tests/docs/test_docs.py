"""README and docs say what is true: drawings are generated, snippets and commands run."""

import ast
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from headway_cli.parser import build_parser

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "docs"))

import generate  # noqa: E402 -- the generator is no package

PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]


def blocks(page: Path, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", page.read_text(), flags=re.S | re.M)


def commands() -> list[tuple[str, str]]:
    found = []
    for page in PAGES:
        for block in [b for language in ("bash", "text") for b in blocks(page, language)]:
            joined = block.replace("\\\n", " ")
            for line in joined.splitlines():
                text = re.sub(r"^\$ ", "", line).removeprefix("uv run ")
                if text.startswith("headway ") and not re.match(r"headway +[A-Z]", text):
                    found.append((page.name, text))
    return found


def test_the_drawing_is_the_graph() -> None:
    text = (ROOT / "README.md").read_text()
    assert generate.generated(text) == text, "run python docs/generate.py"


def test_the_table_of_statuses_is_complete() -> None:
    rows = re.findall(r"^\| `(\w+)` \| (\d+) \|", (ROOT / "README.md").read_text(), flags=re.M)
    assert {status: int(code) for status, code in rows} == generate.exit_codes()


def test_the_readme_stays_short() -> None:
    assert len((ROOT / "README.md").read_text().splitlines()) <= 150


@pytest.mark.parametrize(("page", "command"), commands())
def test_every_command_that_is_shown_can_be_typed(page: str, command: str) -> None:
    words = shlex.split(command, comments=True)
    args = build_parser().parse_args(words[1:])
    assert args.command == words[1]


@pytest.mark.parametrize(
    "page", [page for page in PAGES if blocks(page, "python")], ids=lambda page: page.name
)
def test_the_python_snippets_of_a_page_run_one_after_another(page: Path, tmp_path: Path) -> None:
    work = tmp_path / "work"
    work.mkdir()
    done = subprocess.run(
        [sys.executable, "-c", "\n".join(blocks(page, "python"))],
        capture_output=True, text=True, cwd=work, timeout=120,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("page", [p for p in PAGES if blocks(p, "py")], ids=lambda page: page.name)
def test_snippets_that_need_a_server_or_another_package_are_at_least_python(page: Path) -> None:
    for snippet in blocks(page, "py"):
        assert ast.parse(snippet).body


def test_every_link_inside_the_project_leads_somewhere() -> None:
    broken = [
        f"{page.name}: {target}"
        for page in PAGES
        for target in re.findall(r"\]\(([^)#:]+)\)", page.read_text())
        if not (page.parent / target).exists()
    ]
    assert not broken
