"""What a run prints: its answer, facts and events, and nothing that could deceive a reader."""

import json
import subprocess
import sys
from pathlib import Path

from cli_support import DONE, EDIT, Headway, Script, call

from headway_cli.streams import PIPE_CLOSED


def test_a_run_is_answer_and_facts_on_stdout_and_progress_on_stderr(
    headway: Headway, script: Script, workspace: Path
) -> None:
    flags = ("-C", str(workspace), "--model", script([EDIT, DONE]), "--thread", "otter")
    done = headway("run", "make it bye", *flags, "--check", "grep -q bye a.txt")
    assert done.code == 0
    assert done.out.startswith("Changed.\n\nstatus     completed, verified by the check: grep")
    assert "files      changed  a.txt" in done.out
    assert "\n-hello\n+bye\n" in done.out
    assert "used       2 of 60 model calls, 1 of 200 tool calls" in done.out
    assert done.out.endswith('go on      headway resume otter "…"\n')
    assert "thread    otter" in done.err
    assert " 1  edit a.txt" in done.err
    assert "\x1b" not in done.out + done.err


def test_json_is_one_object_with_the_whole_outcome(
    headway: Headway, script: Script, workspace: Path
) -> None:
    model = script([EDIT, DONE])
    done = headway("run", "make it bye", "-C", str(workspace), "--model", model, "--json")
    found = done.json
    assert done.out.count("\n") == 1
    assert found["schema_version"] == 1
    assert (found["status"], found["answer"], found["verified"]) == ("completed", "Changed.", None)
    assert found["files"] == [{"path": "a.txt", "kind": "changed", "runs_by_itself": False}]
    assert found["usage"]["model_calls"] == 2
    assert [step["turn"] for step in found["steps"]] == [1, 2]
    assert found["thread"].startswith("make-it-bye-")


def test_jsonl_is_one_event_a_line_and_the_first_names_the_schema(
    headway: Headway, script: Script, workspace: Path
) -> None:
    model = script([EDIT, DONE])
    done = headway("run", "make it bye", "-C", str(workspace), "--model", model, "--jsonl")
    events = [json.loads(line) for line in done.out.splitlines()]
    assert events[0] == {"type": "schema", "schema_version": 1}
    kinds = [event["type"] for event in events]
    assert kinds[1] == "start"
    assert kinds.index("call") < kinds.index("observation") < kinds.index("end")
    assert kinds[-1] == "end"
    assert events[-1]["outcome"]["status"] == "completed"
    assert done.err == ""


def test_hostile_output_of_a_command_never_reaches_the_terminal_raw(
    headway: Headway, script: Script, workspace: Path
) -> None:
    bell = call("bash", command=r"printf '\033[2J\033]0;owned\007'; printf '\033[31m' >&2")
    model = script([bell, {"content": "\x1b[2Jdone"}])
    done = headway("run", "x\x1b[2J", "-C", str(workspace), "--model", model)
    assert done.code == 0
    assert "\x1b" not in done.out + done.err
    assert "\x07" not in done.out + done.err


NESTED = (
    "git init -q sub; cd sub; echo evil > .git/hooks/pre-commit; echo 1 > ../.envrc; echo 2 > x"
)


def test_a_nested_repository_and_its_hooks_are_named_and_the_rest_of_it_is_one_line(
    headway: Headway, script: Script, workspace: Path
) -> None:
    model = script([call("bash", command=NESTED), DONE])
    done = headway("run", "x", "-C", str(workspace), "--model", model)
    told = [line for line in done.out.splitlines() if "by themselves" in line]
    for path in (".envrc", "sub/.git ", "sub/.git/hooks/pre-commit", "sub/.git/config"):
        assert any(path in line for line in told)
    assert len(told) == 4
    assert ".sample" not in done.out
    assert "paths inside .git" in done.out
    assert "+evil" in done.out


def test_no_sandbox_is_said_at_the_start_and_in_the_end_of_each_run(
    headway: Headway, script: Script, workspace: Path
) -> None:
    model = script([DONE, DONE, DONE])
    place = ("-C", str(workspace), "--thread", "t", "--model", model, "--sandbox", "none")
    first = headway("run", "x", *place)
    assert "WARNING: no sandbox" in first.err
    assert "warning    no sandbox: commands ran as you" in first.out
    second = headway("resume", "t", "more", "--json")
    assert "WARNING: no sandbox" in second.err
    assert any("no sandbox" in text for text in second.json["warnings"])


def test_a_reader_that_goes_away_is_no_crash(tmp_path: Path, own_home: Path) -> None:
    script = tmp_path / "script.jsonl"
    script.write_text('{"tool_calls": [{"name": "think", "args": {}}]}\n{"content": "ok"}\n')
    command = [sys.executable, "-m", "headway_cli", "run", "x", "-C", str(tmp_path), "--jsonl"]
    started = subprocess.Popen(
        [*command, "--model", f"scripted:{script}"], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    assert started.stdout
    assert started.stderr
    started.stdout.readline()
    started.stdout.close()
    errors = started.stderr.read().decode()
    assert started.wait(60) == PIPE_CLOSED
    assert "Traceback" not in errors
    started.stderr.close()


def test_a_command_that_prints_without_end_is_told_as_stopped_for_it(
    headway: Headway, script: Script, workspace: Path
) -> None:
    model = script([call("bash", command="yes"), DONE])
    done = headway("run", "x", "-C", str(workspace), "--model", model)
    assert "stopped  yes  (ended because it printed too much" in done.out
    assert "bash: ended because it printed too much" in done.err


def test_a_forged_name_is_one_line_in_list_and_diff(
    headway: Headway, script: Script, workspace: Path
) -> None:
    made = call("bash", command="echo 1 > $'x\\n+++ y'")
    done = headway("run", "x", "-C", str(workspace), "--model", script([made, DONE]))
    assert "added    x\\n+++ y" in done.out
    assert "+++ b/x\\n+++ y" in done.out
    assert "\n+++ y" not in done.out
