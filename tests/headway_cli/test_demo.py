"""The demo as a user sees it, in a process of its own."""

import json
import subprocess
import sys
from pathlib import Path

from cli_support import Headway

from headway_cli.commands.demo import changed_protected, fresh_project

HEADWAY = (sys.executable, "-c", "import sys; from headway_cli.main import main; sys.exit(main())")


def test_the_demo_repairs_the_shop_and_nothing_else(tmp_path: Path) -> None:
    done = subprocess.run([*HEADWAY, "demo", "--json"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert (found["status"], found["verified"]) == ("completed", True)
    assert (found["usage"]["model_calls"], found["usage"]["tool_calls"]) == (5, 6)
    assert len(found["steps"]) == 7
    assert (found["limits"]["model_calls"], found["limits"]["tool_calls"]) == (8, 16)
    assert [run["exit_code"] for run in found["commands"]] == [1, 0]
    assert [change["path"] for change in found["files"]] == ["shop/delivery.py"]
    shop = Path(found["workspace"])
    assert "with_name" in (shop / "shop/delivery.py").read_text()
    unchanged, stays = done.stderr.splitlines()[-2:]
    assert unchanged == "tests and settings are unchanged, byte for byte"
    assert stays.startswith(f"the project stays in {shop}")
    assert "\x1b" not in done.stderr


def test_a_changed_test_is_found_byte_by_byte() -> None:
    folder = fresh_project()
    assert changed_protected(folder) == []
    test = folder / "tests/test_delivery.py"
    test.write_bytes(test.read_bytes() + b"\n")
    (folder / "shop/settings.json").unlink()
    assert changed_protected(folder) == ["tests/test_delivery.py", "shop/settings.json"]


def test_the_demo_can_be_resumed_with_its_own_model(headway: Headway) -> None:
    assert headway("demo").code == 0
    done = headway("resume", "demo", "once more", "--json")
    assert (done.code, done.json["answer"]) == (0, "The tests pass already; I changed nothing.")
