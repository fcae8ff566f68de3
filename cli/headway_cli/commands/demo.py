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

TASK: Final = "The tests of this shop fail. Find out why and repair it."
PROTECTED: Final = ("tests", "shop/settings.json")


def run(args: argparse.Namespace) -> int:
    """Repair a copy of the project; the exit code of the run."""
    return conduct(
        TASK,
        output_for(args),
        model=PolicyModel(policy=repair_shop),
        workspace=fresh_project(),
        thread_id=f"demo-{secrets.token_hex(2)}",
        protect=PROTECTED,
        check=TEST_COMMAND,
        limits=DEMO,
    )


def demo_model(record: ThreadRecord) -> PolicyModel | None:
    """The policy for a thread that the demo started, so that it can be resumed; else None."""
    started_here = record.model is None and record.task == TASK
    return PolicyModel(policy=repair_shop) if started_here else None


def fresh_project() -> Path:
    """A copy of the shop project in a new folder, which stays for `show` and `undo`."""
    folder = Path(tempfile.mkdtemp(prefix="headway-demo-")) / "shop"
    with as_file(files("headway_cli.demo") / "project") as source:
        shutil.copytree(source, folder, ignore=shutil.ignore_patterns("__pycache__"))
    return folder
