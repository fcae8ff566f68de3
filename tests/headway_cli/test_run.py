import io
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from cli_support import DONE, EDIT, Headway, Script, call

from headway_cli.streams import PIPE_CLOSED
from openai_server import OpenAIServer, says


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


def test_protected_files_and_the_network_are_out_of_reach(
    headway: Headway, script: Script, workspace: Path
) -> None:
    model = script([EDIT, call("bash", command="echo x >> a.txt; ls /sys/class/net"), DONE])
    flags = ("-C", str(workspace), "--model", model, "--protect", "a.txt", "--json")
    done = headway("run", "try", *flags)
    assert (workspace / "a.txt").read_text() == "hello\nworld\n"
    assert done.json["files"] == []


def test_model_arguments_and_instructions_reach_the_endpoint(
    headway: Headway, workspace: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rules = tmp_path / "rules.md"
    rules.write_text("Answer in verse.")
    env = tmp_path / "env"
    monkeypatch.setattr(os, "environ", os.environ.copy())
    with OpenAIServer([says("Roses are red.")]) as server:
        env.write_text(f"OPENAI_BASE_URL={server.url}\nOPENAI_API_KEY=not-a-key\n")
        flags = ("--model-arg", "temperature=0.25", "--instructions", str(rules))
        place = ("-C", str(workspace), "--model", "openai:m", "--env-file", str(env))
        done = headway("run", "say it", *place, *flags, "--json")
        body = server.requests[0].body
    assert done.json["answer"] == "Roses are red."
    assert (body["model"], body["temperature"]) == ("m", 0.25)
    assert "Answer in verse." in str(body["messages"][0])


def test_an_env_file_in_the_workspace_is_not_read(
    headway: Headway, script: Script, workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (workspace / ".env").write_text("HEADWAY_MODEL=openai:evil\nOPENAI_API_KEY=x\n")
    monkeypatch.chdir(workspace)
    assert headway("run", "x").code == 2


def test_the_environment_and_the_config_file_configure_a_run(
    headway: Headway,
    script: Script,
    workspace: Path,
    own_home: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    model = script([EDIT, DONE])
    (own_home / "config.toml").write_text('protect = ["a.txt"]\n[limit]\nmodel_calls = 7\n')
    monkeypatch.setenv("HEADWAY_MODEL", model)
    monkeypatch.chdir(workspace)
    found = headway("run", "x", "--limit", "tool_calls=3", "--json").json
    assert (found["limits"]["model_calls"], found["limits"]["tool_calls"]) == (7, 3)
    assert found["files"] == []


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


@pytest.mark.parametrize(
    ("flag", "words"),
    [("--protect=test", "no such file"), ("--protect=../x", "protect"), ("--ro=/gone", "exist")],
)
def test_a_path_that_cannot_be_protected_or_shown_ends_before_the_run(
    headway: Headway, script: Script, workspace: Path, flag: str, words: str
) -> None:
    done = headway("run", "x", "-C", str(workspace), "--model", script([DONE]), flag)
    assert (done.code, done.out) == (2, "")
    assert words in done.err.splitlines()[-1]
    assert "Traceback" not in done.err


def test_a_script_is_found_again_from_another_folder(
    headway: Headway, script: Script, workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = Path(script([DONE, DONE]).removeprefix("scripted:"))
    monkeypatch.chdir(path.parent)
    place = ("-C", str(workspace), "--thread", "otter")
    assert headway("run", "x", *place, "--model", f"scripted:{path.name}").code == 0
    monkeypatch.chdir(workspace)
    assert headway("resume", "otter", "more").code == 0


@pytest.mark.parametrize("limit", ["model_calls=0", "turns=1"])
def test_a_wrong_limit_names_where_it_was_written(
    headway: Headway,
    script: Script,
    workspace: Path,
    own_home: Path,
    monkeypatch: pytest.MonkeyPatch,
    limit: str,
) -> None:
    run = ("run", "x", "-C", str(workspace), "--model", script([DONE]))
    (own_home / "config.toml").write_text(f"[limit]\n{limit}\n")
    assert "headway: limit in config.toml" in headway(*run).err
    monkeypatch.setenv("HEADWAY_LIMIT", limit)
    assert "headway: HEADWAY_LIMIT" in headway(*run).err
    assert "headway: --limit" in headway(*run, "--limit", limit).err


def test_an_empty_name_is_no_thread(headway: Headway, script: Script, otter: Path) -> None:
    place = ("-C", str(otter), "--model", script([DONE]))
    for argv in (("run", "x", *place, "--thread", ""), ("show", ""), ("undo", ""), ("rm", "")):
        done = headway(*argv)
        assert (done.code, done.out) == (2, ""), argv
    assert [row["thread"] for row in headway("threads", "--json").json["threads"]] == ["otter"]


def test_a_home_is_no_workspace_without_the_flag(
    headway: Headway, script: Script, workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(workspace))
    model = ("--model", script([DONE, DONE]), "-C", str(workspace))
    refused = headway("run", "x", *model)
    assert (refused.code, refused.out) == (2, "")
    assert "--unsafe-workspace" in refused.err
    assert headway("run", "x", *model, "--unsafe-workspace", "--thread", "t").code == 0
    assert headway("resume", "t", "more").code == 0


def test_headways_own_data_in_the_workspace_is_out_of_reach_and_in_no_snapshot(
    headway: Headway, script: Script, workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = workspace / "share/headway"
    monkeypatch.setenv("HEADWAY_HOME", str(data))
    place = ("-C", str(workspace), "--unsafe-workspace")
    assert headway("run", "x", *place, "--thread", "other", "--model", script([DONE])).code == 0
    (data / "note").write_text("key-of-the-host\n")
    attempts = [
        call("bash", command="cat share/headway/note; mv share away; rm -rf share; ls -R share"),
        call("read_file", path="share/headway/note"),
        call("edit", path="share/headway/threads/other/thread.json", old_text="", new_text="x"),
        call("bash", command="echo made > new.txt"),
        DONE,
    ]
    model = script(attempts)
    done = headway("run", "x", *place, "--thread", "t", "--model", model, "--json")
    assert (done.code, done.json["status"]) == (0, "completed")
    assert [found["path"] for found in done.json["files"]] == ["new.txt"]
    seen = [step["observation"] for step in done.json["steps"][:4]]
    assert [json.loads(text).get("error") for text in seen] == [None, "hidden", "hidden", None]
    assert "key-of-the-host" not in done.out
    assert "threads" not in seen[0]
    assert headway("undo", "t").code == 0
    assert not (workspace / "new.txt").exists()
    assert (data / "threads/other/thread.json").read_text().startswith("{")
    assert headway("resume", "other", "more", "--model", script([DONE, DONE])).code == 0


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


@pytest.mark.parametrize("check", ["nosuchcommand", "nosuchcommand -x tests"])
def test_a_check_without_its_program_is_refused_before_any_model_call(
    headway: Headway, script: Script, workspace: Path, check: str
) -> None:
    model = script([DONE])
    done = headway("run", "x", "-C", str(workspace), "--model", model, "--check", check)
    assert (done.code, done.out) == (2, "")
    assert "the check cannot be started: commands find no 'nosuchcommand'" in done.err
    assert "no thread yet" in headway("threads").err


def test_a_check_that_the_run_makes_is_no_missing_program(
    headway: Headway, script: Script, workspace: Path
) -> None:
    made = call("bash", command="printf '#!/bin/sh\\nexit 0\\n' > t.sh; chmod +x t.sh")
    place = ("-C", str(workspace), "--model", script([made, DONE]))
    done = headway("run", "write a test", *place, "--check", "./t.sh", "--json")
    assert (done.code, done.json["status"]) == (0, "completed")


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


@pytest.mark.parametrize(("stdin", "code"), [("make it bye\n", 0), ("", 2)])
def test_a_task_can_come_from_stdin(
    headway: Headway,
    script: Script,
    workspace: Path,
    monkeypatch: pytest.MonkeyPatch,
    stdin: str,
    code: int,
) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO(stdin))
    done = headway("run", "-", "-C", str(workspace), "--model", script([DONE]), "--thread", "t")
    assert done.code == code
    assert ("task      make it bye" if stdin else "the task is empty") in done.err


def test_a_stop_can_be_a_question(headway: Headway, script: Script, workspace: Path) -> None:
    model = script([DONE, DONE, DONE, DONE])
    flags = ("--check", "false", "--on-stop", "ask", "--thread", "t", "--json")
    asked = headway("run", "x", "-C", str(workspace), "--model", model, *flags)
    assert (asked.code, asked.json["status"]) == (6, "needs_approval")
    ended = headway("resume", "t", "--answer", "stop", "--json")
    assert (ended.code, ended.json["status"]) == (1, "check_failed")
