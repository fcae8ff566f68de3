"""What bash itself tells about a command, on a descriptor of its own.

A start file (BASH_ENV) sets the limits, says that bash runs, and reports at its end the code of
each pipeline stage. The command stays exactly the text of `-c`, and the report never mixes with
its output. A program can forge its own report, nothing else.
"""

import signal
from dataclasses import dataclass

from headway_tools.sandbox.policy import SandboxLimits

STATUS_FD = "HEADWAY_STATUS_FD"


def start_file(limits: SandboxLimits, *, count_processes: bool) -> str:
    """The text of BASH_ENV. `count_processes` only where the kernel counts this sandbox's alone."""
    processes = f"ulimit -u {limits.processes} 2>/dev/null" if count_processes else ""
    return f"""\
unset BASH_ENV
__headway=${STATUS_FD}; unset {STATUS_FD}
ulimit -c 0 2>/dev/null
ulimit -n {limits.open_files} 2>/dev/null
ulimit -f {limits.file_bytes // 1024} 2>/dev/null
ulimit -d {limits.memory_bytes // 1024} 2>/dev/null
{processes}
printf 'started\\n' >&$__headway
trap '__codes=("$?" "${{PIPESTATUS[@]}}"); {{ printf "codes %s\\n" "${{__codes[*]}}"; jobs -rp; }} >&$__headway' EXIT
"""  # noqa: E501 (a trap is one line of shell)


@dataclass(frozen=True)
class ShellReport:
    """`started`: bash ran. `stages` and `background` are empty where bash was ended early."""

    started: bool
    code: int | None = None
    stages: tuple[int, ...] = ()
    background: int = 0


def read_report(data: bytes) -> ShellReport:
    """The last report in `data`; lines that are none are passed over."""
    lines = data.decode("ascii", "replace").splitlines()
    started = "started" in lines
    last = max((at for at, line in enumerate(lines) if line.startswith("codes ")), default=None)
    if last is None:
        return ShellReport(started)
    words = lines[last].split()[1:]
    if not words or not all(word.isdecimal() for word in words):
        return ShellReport(started)
    code, *stages = (int(word) for word in words)
    background = sum(line.isdecimal() for line in lines[last + 1 :])
    return ShellReport(started, code, tuple(stages), background)


def pipeline_stages(report: ShellReport, exit_code: int | None) -> tuple[int, ...]:
    """The stages, where they belong to `exit_code` and one of them failed.

    `exit 3` after a pipeline keeps that pipeline's stages; a stage that ended by SIGPIPE because
    a later one had read enough (`yes | head`) is no failure.
    """
    stages = report.stages
    if len(stages) < 2 or exit_code is None:
        return ()
    *earlier, final = stages
    failed = [code for code in earlier if code not in (0, 128 + signal.SIGPIPE)]
    belongs = final == exit_code or (exit_code in stages and report.code == exit_code)
    return stages if belongs and (failed or final) else ()


def signal_name(exit_code: int | None) -> str | None:
    """`SIGKILL` for 137 and -9: the name behind a shell's or a parent's way of telling it."""
    if exit_code is None:
        return None
    number = -exit_code if exit_code < 0 else exit_code - 128
    try:
        return signal.Signals(number).name if number > 0 else None
    except ValueError:
        return None
