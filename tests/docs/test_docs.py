"""README and docs say what is true: what is generated is as it would be now, snippets run."""

import ast
import pkgutil
import re
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "docs"))

import generate  # noqa: E402 -- the generator is no package

from headway_cli.help_text import COMMANDS  # noqa: E402

PAGES = generate.PAGES


def blocks(page: Path, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", page.read_text(), flags=re.S | re.M)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_what_is_generated_is_up_to_date(page: Path) -> None:
    text = page.read_text()
    assert generate.filled(text) == text, "run python docs/generate.py"


def test_every_command_has_its_help_in_the_docs() -> None:
    text = (ROOT / "docs" / "cli.md").read_text()
    assert re.findall(r"^### headway (\w+)$", text, flags=re.M) == list(COMMANDS)


def test_the_readme_stays_short() -> None:
    assert len((ROOT / "README.md").read_text().splitlines()) <= 150


@pytest.mark.parametrize(
    "page", [page for page in PAGES if blocks(page, "python")], ids=lambda page: page.name
)
def test_the_python_snippets_of_a_page_run_one_after_another(
    page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {"__name__": "snippets"}
    exec(compile("\n".join(blocks(page, "python")), page.name, "exec"), names)
    assert len(names) > 1


@pytest.mark.parametrize("page", [p for p in PAGES if blocks(p, "py")], ids=lambda page: page.name)
def test_snippets_that_need_a_server_or_another_package_are_at_least_python(page: Path) -> None:
    for snippet in blocks(page, "py"):
        assert ast.parse(snippet).body


def links(page: Path) -> set[Path]:
    found = re.findall(r"\]\(([^)#:]+\.md)(?:#[^)]*)?\)", page.read_text())
    return {(page.parent / target).resolve() for target in found}


def test_every_page_can_be_reached_from_the_readme() -> None:
    seen, new = set[Path](), {ROOT / "README.md"}
    while new:
        seen |= new
        new = {target for page in new for target in links(page)} - seen
    assert {*PAGES, ROOT / "bench" / "README.md"} <= seen


def test_every_link_inside_the_project_leads_somewhere() -> None:
    broken = [
        f"{page.name}: {target}"
        for page in PAGES
        for target in re.findall(r"\]\(([^)#:]+)\)", page.read_text())
        if not (page.parent / target).exists()
    ]
    assert not broken


NAME = re.compile(r"(?<![\w.-])headway(?:_\w+)?(?:\.\w+)+")
PLACE = re.compile(
    r"(?<![\w/.-])(?:graph|tools|debugger|cli|tests|docs|bench|examples|\.ci)/[\w./*]+"
)


def code_of(page: Path) -> str:
    return "\n".join(re.findall(r"`([^`\n]+)`", page.read_text()))


def is_there(name: str) -> bool:
    """Whether a dotted name is a module, or something in one."""
    try:
        pkgutil.resolve_name(name)
    except (ImportError, AttributeError):
        return False
    return True


@pytest.mark.parametrize("page", [*PAGES, ROOT / "bench" / "README.md"], ids=lambda page: page.name)
def test_every_module_and_file_that_is_named_exists(page: Path) -> None:
    code = code_of(page)
    assert not [name for name in NAME.findall(code) if not is_there(name)]
    assert not [place for place in PLACE.findall(code) if not list(ROOT.glob(place.rstrip("/")))]


def test_the_page_for_newcomers_names_modules_and_files() -> None:
    code = code_of(ROOT / "docs" / "design.md")
    assert len(NAME.findall(code)) > 10
    assert len(PLACE.findall(code)) > 2
