"""`headway demo`: repairs the shop project in a fresh folder, with a policy for a model."""

import argparse
import secrets
import shutil
import tempfile
from importlib.resources import as_file, files
from pathlib import Path
from typing import Final

from headway.limits import DEMO
from headway.testing import PolicyModel
from headway.threads import ThreadRecord
from headway_cli.conduct import conduct, output_for
from headway_cli.demo.policy import TEST_COMMAND, repair_shop
from headway_cli.streams import tell

TASK: Final = "The tests of this shop fail. Find out why and repair it."
PROTECTED: Final = ("tests", "shop/settings.json")
SAID: Final = (
    "A small policy plays the model here, with the real graph, tools and sandbox.\n"
    "It shows that the loop works, and no skill in repairing: --model brings a real one to `run`."
)


def run(args: argparse.Namespace) -> int:
    """Repair a copy of the project; the exit code of the run."""
    folder = fresh_project()
    tell(SAID)
    code = conduct(
        TASK,
        output_for(args),
        model=demo_model(),
        workspace=folder,
        thread_id=f"demo-{secrets.token_hex(2)}",
        protect=PROTECTED,
        check=TEST_COMMAND,
        limits=DEMO,
    )
    changed = changed_protected(folder)
    unchanged = "tests and settings are unchanged, byte for byte"
    tell(f"{', '.join(changed)} was changed!" if changed else unchanged)
    tell(f"the project stays in {folder}, to look at and to undo; remove it as you like")
    return 1 if changed else code


def demo_model() -> PolicyModel:
    """The policy as a chat model."""
    return PolicyModel(policy=repair_shop)


def started_here(record: ThreadRecord) -> bool:
    """Whether the demo started this thread, so that its model is the policy."""
    return record.model is None and record.task == TASK


def fresh_project() -> Path:
    """A copy of the shop project in a new folder, which stays for `show` and `undo`."""
    folder = Path(tempfile.mkdtemp(prefix="headway-demo-")) / "shop"
    with as_file(files("headway_cli.demo") / "project") as source:
        shutil.copytree(source, folder, ignore=shutil.ignore_patterns("__pycache__"))
    return folder


def changed_protected(folder: Path) -> list[str]:
    """Protected files that are not as the demo brought them, byte by byte."""
    with as_file(files("headway_cli.demo") / "project") as source:
        paths = [path for name in PROTECTED for path in _files(source / name)]
        names = [path.relative_to(source) for path in paths]
        return [str(name) for name in names if not _same(source / name, folder / name)]


def _files(path: Path) -> list[Path]:
    return sorted(path.rglob("*.py")) if path.is_dir() else [path]


def _same(one: Path, two: Path) -> bool:
    return two.is_file() and one.read_bytes() == two.read_bytes()
