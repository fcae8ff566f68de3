"""Swaps two names as fast as it can until its input closes.

Usage: swapper.py FOLDER ONE OTHER. Prints "ready" first and the number of swaps last.
"""

import ctypes
import os
import select
import sys

EXCHANGE = 2


def main(folder: str, one: str, other: str) -> None:
    rename = ctypes.CDLL(None, use_errno=True).renameat2
    handle = os.open(folder, os.O_PATH)
    names = os.fsencode(one), os.fsencode(other)
    count = 0
    print("ready", flush=True)  # noqa: T201 - read by the test
    while count % 256 or not select.select([sys.stdin], [], [], 0)[0]:
        if rename(handle, names[0], handle, names[1], EXCHANGE) != 0:
            raise OSError(ctypes.get_errno(), "renameat2")
        count += 1
    print(count)  # noqa: T201 - read by the test


if __name__ == "__main__":
    main(*sys.argv[1:])
