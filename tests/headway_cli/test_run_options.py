"""What a run is given: task, flags, environment, configuration, and what of it is refused."""

import io
import json
import os
import sys
from pathlib import Path

import pytest
from cli_support import DONE, EDIT, Headway, Script, call

from openai_server import OpenAIServer, says


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
