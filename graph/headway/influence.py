"""Which changed files can turn a check green without mending anything: by path alone (pure)."""

import sys
from fnmatch import fnmatchcase
from pathlib import PurePosixPath
from typing import Final

RUN_BY_THEMSELVES: Final = (
    "conftest.py", "sitecustomize.py", "usercustomize.py", "*.pth", "setup.py", "setup.cfg",
    "pyproject.toml", "pytest.ini", ".pytest.ini", "tox.ini", "noxfile.py", ".coveragerc",
    "package.json", ".npmrc", "jest.config.*", "vitest.config.*", "babel.config.*", ".babelrc*",
    ".mocharc*", "tsconfig*.json", "Makefile", "makefile", "GNUmakefile", "*.mk", "justfile",
    "Justfile", "Taskfile.y*ml", "Rakefile", ".rspec", "phpunit.xml*", "build.rs", "build.gradle*",
    "pom.xml", ".mvn/*", "CMakeLists.txt", ".cargo/config*", ".envrc", ".tool-versions",
    "mise.toml", ".mise.toml", ".bashrc", ".bash_profile", ".profile", ".zshrc", ".zshenv",
    ".gdbinit", ".lldbinit", ".exrc", ".nvimrc", ".nvim.lua", ".dir-locals.el",
    ".vscode/tasks.json", ".vscode/settings.json", ".vscode/launch.json", "*.code-workspace",
    ".devcontainer/*", ".devcontainer.json", ".idea/*", ".mcp.json", ".claude/*",
    ".github/workflows/*", ".gitlab-ci.yml", ".circleci/config.yml", "Jenkinsfile", ".husky/*",
    "lefthook.yml", ".pre-commit-config.yaml", ".gitattributes", ".git", ".git/hooks/*",
    ".git/config", ".git/config.worktree", ".git/info/attributes", ".git/commondir",
)  # fmt: skip
"""Files that other tools execute or obey without being asked to; a new repository is one: your
git obeys its configuration and runs its hooks."""

STARTUP: Final = ("sitecustomize.py", "usercustomize.py", "*.pth")
"""What Python itself runs at its start, in a folder of packages."""

_TEST_FOLDERS: Final = frozenset(("test", "tests", "__tests__", "spec", "specs", "e2e"))
_TEST_NAMES: Final = (
    "test_*", "tests.*", "*_test.*", "*_tests.*", "*.test.*", "*.spec.*", "*_spec.*", "*Test.*",
    "*Tests.*", "check.py", "check*.sh", "verify.py", "verify*.sh",
)  # fmt: skip


def runs_by_itself(path: str) -> bool:
    """True for files that tools execute or obey unasked; git's examples of hooks are none."""
    return not fnmatchcase(path, "*.git/hooks/*.sample") and any(
        fnmatchcase(path, pattern) or fnmatchcase(path, f"*/{pattern}")
        for pattern in RUN_BY_THEMSELVES
    )


def starts_python(path: str) -> bool:
    """True for files that Python runs at its start where they lie among packages."""
    return any(fnmatchcase(PurePosixPath(path).name, pattern) for pattern in STARTUP)


def shadows(path: str) -> bool:
    """True for what Python may import in place of a module of its standard library: a module or
    a package of that name, as source, bytecode or extension, in any folder."""
    name = PurePosixPath(path)
    stem, _, ending = name.name.partition(".")
    if stem == "__init__":
        stem = name.parent.name
    importable = ending.rpartition(".")[2] in ("py", "pyc", "so")
    return importable and stem in sys.stdlib_module_names


def is_test(path: str) -> bool:
    """True for files that look like tests, by folder or name."""
    name = PurePosixPath(path)
    if _TEST_FOLDERS.intersection(name.parts[:-1]):
        return True
    return any(fnmatchcase(name.name, pattern) for pattern in _TEST_NAMES)


def bends(path: str) -> bool:
    """True for files, tests aside, that can decide a check by themselves. Git's own are left out:
    they are protected, and a repository made in the run needs them."""
    return (runs_by_itself(path) or shadows(path)) and ".git" not in PurePosixPath(path).parts
