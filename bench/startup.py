"""CPU of `headway --help` against `import langgraph.graph`: at most a third.

python bench/startup.py [ROUNDS]
"""

import resource
import subprocess
import sys
from collections.abc import Sequence

HELP = ("-c", "from headway_cli.main import main; main(['--help'])")
BARE = ("-c", "pass")
LANGGRAPH = ("-c", "import langgraph.graph")


def cpu_seconds(command: Sequence[str]) -> float:
    """User and system time of one run of the interpreter."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([sys.executable, *command], check=True, stdout=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main() -> None:
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 5
    bare, shown, langgraph = (
        min(cpu_seconds(command) for _ in range(rounds)) for command in (BARE, HELP, LANGGRAPH)
    )
    print(f"python -c pass          {bare:6.3f} s")
    print(f"headway --help          {shown:6.3f} s")
    print(f"import langgraph.graph  {langgraph:6.3f} s")
    print(f"ratio                   {shown / langgraph:6.3f}  (at most 0.333)")


if __name__ == "__main__":
    main()
