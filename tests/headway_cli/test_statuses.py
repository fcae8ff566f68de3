"""Each status from the command line, with its exit code and the same word in JSON."""

from pathlib import Path
from typing import Any

import pytest
from cli_support import DONE, EDIT, Headway, Script, call

from openai_server import OpenAIServer, fails

SLEEP = call("bash", command="sleep 2")

CASES: list[tuple[str, int, list[dict[str, Any]], list[str]]] = [
    ("completed", 0, [EDIT, DONE], []),
    ("completed", 0, [{"content": "There."}], ["--check", "grep -q hello a.txt"]),
    ("invalid_answer", 1, [{"content": ""}] * 9, []),
    ("check_failed", 1, [{"content": "All done."}] * 9, ["--check", "false"]),
    ("model_refused", 1, [{"refusal": "I cannot help with that."}] * 9, []),
    ("no_progress", 3, [call("bash", command="true")] * 50, []),
    ("limit", 4, [EDIT, {"content": "ok"}], ["--limit", "model_calls=1"]),
    ("limit", 124, [SLEEP, {"content": "ok"}], ["--limit", "seconds=1"]),
    ("needs_approval", 6, [EDIT, DONE], ["--ask", "edits"]),
]


@pytest.mark.parametrize(("status", "code", "replies", "flags"), CASES)
def test_a_status_is_its_exit_code(
    headway: Headway,
    script: Script,
    workspace: Path,
    status: str,
    code: int,
    replies: list[dict[str, Any]],
    flags: list[str],
) -> None:
    model = script(replies)
    done = headway("run", "do it", "-C", str(workspace), "--model", model, *flags, "--json")
    assert (done.json["status"], done.code) == (status, code), done.err


def test_an_endpoint_that_refuses_is_exit_5(
    headway: Headway, workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with OpenAIServer([fails(401, "bad key", "invalid_api_key")] * 9) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        monkeypatch.setenv("OPENAI_API_KEY", "not-a-key")
        done = headway("run", "do it", "-C", str(workspace), "--model", "openai:m", "--json")
    assert (done.json["status"], done.code) == ("model_error", 5)


def test_what_starts_no_run_is_exit_2_with_the_fix_on_one_line(
    headway: Headway, script: Script, workspace: Path
) -> None:
    model = script([{"content": "ok"}])
    wrong: dict[str, tuple[str, ...]] = {
        "--model openai:NAME": ("run", "x", "-C", str(workspace)),
        "OPENAI_API_KEY": ("run", "x", "-C", str(workspace), "--model", "openai:m"),
        "-C is empty": ("run", "x", "-C", "", "--model", model),
        "~nosuchuser/x is in no home": ("run", "x", "-C", "~nosuchuser/x", "--model", model),
        "the check is empty": ("run", "x", "-C", str(workspace), "--model", model, "--check", " "),
        "does not exist: give -C": ("run", "x", "-C", str(workspace / "none"), "--model", model),
        "--limit has no 'turns'": ("run", "x", "--model", model, "--limit", "turns=3"),
        "is a file, not a folder": ("run", "x", "-C", str(workspace / "a.txt"), "--model", model),
        "takes a whole number above 0 (it cannot be off), not '0'; the limits are model_calls": (
            "run",
            "x",
            "--model",
            model,
            "--limit",
            "model_calls=0",
        ),
        "--instructions": ("run", "x", "--model", model, "--instructions", "/none"),
        "headway demo": ("resume",),
        "no thread is named 'none'": ("resume", "none"),
    }
    for said, argv in wrong.items():
        done = headway(*argv)
        assert (done.code, done.out) == (2, ""), argv
        assert said in done.err.splitlines()[-1]
