"""How a command ends is told exactly, and nothing of it stays."""

import asyncio
import resource
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from sandbox.support import Open

from headway_tools.errors import SandboxError
from headway_tools.sandbox import Cancel, Sandbox, SandboxLimits, run_in_thread


def alive(marker: str) -> bool:
    """Whether a process, not a zombie, has `marker` in its command line."""
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            if marker.encode() in path.read_bytes():
                return True
        except OSError:
            continue
    return False


def descriptors() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))


def wait_until(holds: Callable[[], bool]) -> None:
    for _ in range(3000):
        if holds():
            return
        time.sleep(0.01)
    raise AssertionError("it did not come true")


def test_output_and_errors_are_apart(each_kind: Sandbox) -> None:
    result = each_kind.run("echo out; echo err >&2; exit 3", timeout=20)
    assert (result.stdout, result.stderr, result.exit_code) == ("out\n", "err\n", 3)


@pytest.mark.parametrize(
    ("command", "code", "stages"),
    [
        ("false | true", 0, (1, 0)),
        ("true | false", 1, (0, 1)),
        ("yes | head -1 >/dev/null", 0, ()),
        ("true | true", 0, ()),
        ("(exit 4) | (exit 5) | cat", 0, (4, 5, 0)),
        ("set -o pipefail; false | true", 1, (1, 0)),
        ("nosuch 2>/dev/null | cat", 0, (127, 0)),
        ("false | true; exit 3", 3, ()),
        ("trap 'echo mine' EXIT; false | true", 0, ()),
        ("false", 1, ()),
    ],
)
def test_stages_of_a_failing_pipeline(
    each_kind: Sandbox, command: str, code: int, stages: tuple[int, ...]
) -> None:
    result = each_kind.run(command, timeout=20)
    assert (result.exit_code, result.stages) == (code, stages)


@pytest.mark.parametrize(
    ("command", "name"),
    [
        ("kill -9 $$", "SIGKILL"),
        ("kill -TERM $$", "SIGTERM"),
        ("bash -c 'kill -SEGV $$'", "SIGSEGV"),
        ("exit 7", None),
        ("exit 255", None),
    ],
)
def test_signals_have_names(each_kind: Sandbox, command: str, name: str | None) -> None:
    assert each_kind.run(command, timeout=20).signal == name


def test_the_command_is_the_text_as_given(each_kind: Sandbox) -> None:
    result = each_kind.run("cat <<'E'\n$HOME # no\nE\necho $LINENO # 4", timeout=20)
    assert result.stdout == "$HOME # no\n4\n"
    assert "line 2" in each_kind.run("true\nnosuchprogram", timeout=20).stderr
    assert each_kind.run("if", timeout=20).exit_code == 2


@pytest.mark.parametrize("reader", ["cat", "read x", "python3", "head -1", "bash -i 2>/dev/null"])
def test_there_is_no_input(each_kind: Sandbox, reader: str) -> None:
    assert not each_kind.run(reader, timeout=20).timed_out


@pytest.mark.parametrize("editor", ["vi", "vim x", "nano", "emacs", "git commit --allow-empty"])
def test_nothing_waits_in_an_editor(opened: Open, editor: str) -> None:
    result = opened().run(f"git init -q; {editor}", timeout=20)
    assert not result.timed_out
    assert result.exit_code != 0


def test_a_background_child_that_holds_the_output_delays_nothing(each_kind: Sandbox) -> None:
    result = each_kind.run("sleep 50 & echo done", timeout=30)
    assert (result.exit_code, result.stdout, result.background) == (0, "done\n", 1)
    assert not result.timed_out


def test_partial_output_is_kept_at_the_time_out(each_kind: Sandbox) -> None:
    command = "echo step; python3 -c 'print(\"from python\"); import time; time.sleep(60)'"
    result = each_kind.run(command, timeout=2)
    assert result.timed_out
    assert result.exit_code is None
    assert "step" in result.stdout
    assert "from python" in result.stdout


def test_cancel_ends_a_command(each_kind: Sandbox) -> None:
    cancel = Cancel()
    threading.Timer(0.2, cancel.trigger).start()
    result = each_kind.run("echo a; sleep 60", timeout=60, cancel=cancel)
    cancel.close()
    assert (result.cancelled, result.exit_code, result.stdout) == (True, None, "a\n")


def test_cancelled_before_it_begins(opened: Open) -> None:
    cancel = Cancel()
    cancel.trigger()
    result = opened().run("sleep 61.5", timeout=60, cancel=cancel)
    cancel.close()
    assert result.cancelled
    assert not alive("sleep 61.5")


def test_output_that_is_no_text_is_shown(each_kind: Sandbox) -> None:
    command = r"printf '\xc3'; sleep 0.1; printf '\xa9 \xff \xe2\x82'; sleep 0.1; printf '\xac'"
    assert each_kind.run(command, timeout=20).stdout == "é \\xff €"


def test_of_long_output_the_first_and_the_last_half_are_kept(opened: Open) -> None:
    sandbox = opened(limits=SandboxLimits(output_bytes=1000))
    result = sandbox.run(
        "echo first; for i in $(seq 9999); do echo é$i; done; echo last", timeout=30
    )
    assert result.truncated
    assert result.stdout.startswith("first\n")
    assert result.stdout.endswith("last\n")
    assert "\\x" not in result.stdout
    assert f"{result.omitted} bytes not kept" in result.stdout
    assert len(result.stdout) < 1200


def test_memory_stays_bounded_whatever_is_printed(opened: Open) -> None:
    sandbox = opened(limits=SandboxLimits(output_bytes=1 << 20, printed_bytes=100 << 20))
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    result = sandbox.run("yes", timeout=60)
    assert result.flooded
    assert not result.timed_out
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 40 << 10


def test_a_program_cannot_fill_the_report(each_kind: Sandbox) -> None:
    command = (
        "for f in /proc/self/fd/*; do n=${f##*/}; [ $n -gt 2 ] && echo codes 9 >&$n; done; exit 4"
    )
    result = each_kind.run(command + " 2>/dev/null", timeout=20)
    assert result.exit_code == 4


def test_calls_at_the_same_time_do_not_disturb_each_other(opened: Open) -> None:
    sandbox = opened()
    results: dict[int, str] = {}

    def work(number: int) -> None:
        command = f"sleep 0.3; echo {number}; echo x > file-{number}"
        results[number] = sandbox.run(command, timeout=60).stdout

    threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == {number: f"{number}\n" for number in range(8)}


async def test_a_cancelled_coroutine_leaves_nothing(opened: Open) -> None:
    sandbox = opened()
    before = descriptors()
    call = run_in_thread(lambda cancel: sandbox.run("sleep 62.25", timeout=60, cancel=cancel))
    task = asyncio.create_task(call)
    await asyncio.to_thread(wait_until, lambda: alive("sleep 62.25"))
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert not alive("sleep 62.25")
    assert descriptors() - before <= 1


async def test_an_error_in_the_thread_is_the_coroutines(opened: Open) -> None:
    with pytest.raises(ValueError, match="NUL"):
        await run_in_thread(lambda cancel: opened().run("a\0b", timeout=1, cancel=cancel))


def test_no_descriptor_is_lost(each_kind: Sandbox) -> None:
    each_kind.run("true", timeout=20)
    before = descriptors()
    for _ in range(5):
        each_kind.run("echo a | cat; sleep 9 &", timeout=20)
    assert descriptors() == before


def test_a_failure_of_the_sandbox_is_not_the_commands(opened: Open, tmp_path: Path) -> None:
    folder = tmp_path / "shown"
    folder.mkdir()
    sandbox = opened(read_only=(folder,))
    folder.rmdir()
    with pytest.raises(SandboxError, match="could not be set up"):
        sandbox.run("true", timeout=20)


def test_an_exit_code_like_the_sandboxs_own_is_the_commands(opened: Open) -> None:
    result = opened().run("echo 'bwrap: no' >&2; exit 1", timeout=20)
    assert (result.exit_code, result.stderr) == (1, "bwrap: no\n")


def test_a_too_long_command_is_refused(each_kind: Sandbox) -> None:
    with pytest.raises(ValueError, match="script file"):
        each_kind.run("true " + "x" * 130_000, timeout=20)


KILLED = """
import sys
from collections.abc import Callable
from pathlib import Path
from headway_tools.sandbox import SandboxPolicy, open_sandbox
top = Path(sys.argv[1])
sandbox = open_sandbox(SandboxPolicy(top / "workspace", top / "workspace", top / "private"))
print("ready", flush=True)
sandbox.run("sleep 63.125", timeout=60)
"""


@pytest.mark.parametrize("delay", [0.0, 0.002, 0.005, 0.01, 0.02, 0.1])
def test_nothing_survives_the_death_of_headway(
    tmp_path: Path, workspace: Path, delay: float
) -> None:
    command = [sys.executable, "-c", KILLED, str(tmp_path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.readline()
        time.sleep(delay)
        process.kill()
    wait_until(lambda: not alive(str(tmp_path)) and not alive("sleep 63.125"))
    assert not alive("sleep 63.125")
