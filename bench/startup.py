"""CPU of commands that run no model, beside `import langgraph.graph`.

    python bench/startup.py [ROUNDS]

`--help` should cost at most a third of it. `threads` reads no checkpoint; `show` builds the graph.
"""

import os
import resource
import subprocess
import sys
import tempfile
from collections.abc import Sequence

MAIN = "import sys; from headway_cli.main import main; sys.exit(main())"
COMMANDS = {
    "python -c pass": ("-c", "pass"),
    "headway --help": ("-c", MAIN, "--help"),
    "headway threads": ("-c", MAIN, "threads"),
    "headway show": ("-c", MAIN, "show", "-"),
}
LANGGRAPH = ("-c", "import langgraph.graph")


def cpu_seconds(command: Sequence[str]) -> float:
    """User and system time of one run of the interpreter."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([sys.executable, *command], check=True, capture_output=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main() -> None:
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 5
    with tempfile.TemporaryDirectory() as home:
        os.environ["HEADWAY_HOME"] = home
        cpu_seconds(("-c", MAIN, "demo"))  # a thread to show
        langgraph = min(cpu_seconds(LANGGRAPH) for _ in range(rounds))
        print(f"{'import langgraph.graph':24}{langgraph:6.2f} s")
        for name, command in COMMANDS.items():
            best = min(cpu_seconds(command) for _ in range(rounds))
            print(f"{name:24}{best:6.2f} s  {best / langgraph:5.2f}")


if __name__ == "__main__":
    main()
