"""What shortening one result costs, in ms of CPU, beside one plain copy of it."""

import base64
import random
import time
from collections.abc import Callable

from headway.truncation import TruncationLimits, shorten
from headway_tools.results import observation

LINE = "x" * 79 + "\n"
UNLIKE = base64.encodebytes(random.Random(0).randbytes(3_700_000)).decode()
RESULTS = {
    "5 MB of equal lines": LINE * 62_500,
    "5 MB of unlike lines": UNLIKE,
    "100 MB of text": LINE * 1_250_000,
    "100 MB in one line": "y" * 100_000_000,
    "8 MB of failures": "".join(f"error {i}\n" for i in range(600_000)),
    "20 MB in a JSON field": observation({"ok": True, "output": LINE * 250_000}),
    "20 MB of JSON rows": observation(
        {"rows": [{"text": "b" * 50, "n": n} for n in range(280_000)]}
    ),
}


def milliseconds(run: Callable[[], object], times: int = 3) -> float:
    best = float("inf")
    for _ in range(times):
        start = time.process_time()
        run()
        best = min(best, time.process_time() - start)
    return best * 1_000


def main() -> None:
    tools = frozenset({"read_output"})
    print(f"{'result':24}{'shorten':>10}{'copy':>10}{'ratio':>8}")
    for name, content in RESULTS.items():

        def shortened(content: str = content) -> str:
            limits = TruncationLimits()
            return shorten(content, limits=limits, output="o-1", name="bash", tools=tools)

        def copied(content: str = content) -> bytes:
            return content.encode()

        mine, copy = milliseconds(shortened), milliseconds(copied)
        print(f"{name:24}{mine:10.1f}{copy:10.1f}{mine / copy:8.1f}")


if __name__ == "__main__":
    main()
