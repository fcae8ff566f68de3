"""`headway threads`: what this data folder holds, the newest first. Reads no checkpoint."""

import argparse
import shutil
import sys

from headway.threads import ThreadRecord, records
from headway_cli.options import the_home
from headway_cli.output import SCHEMA_VERSION, dumps
from headway_cli.terminal import clip, one_line


def run(args: argparse.Namespace) -> int:
    """Print all threads."""
    found = records(the_home())
    if args.json:
        rows = [record.model_dump(exclude={"options", "version"}) for record in found]
        print(dumps({"schema_version": SCHEMA_VERSION, "threads": rows}))
        return 0
    if not found:
        print("no thread yet: headway demo", file=sys.stderr)
    print(table(found, shutil.get_terminal_size().columns), end="")
    return 0


def table(found: list[ThreadRecord], width: int) -> str:
    """One line a thread: name, status, time, task."""
    names = max((len(record.thread) for record in found), default=0)
    return "".join(clip(_line(record, names), width) + "\n" for record in found)


def _line(record: ThreadRecord, names: int) -> str:
    when = record.updated.replace("T", " ")[:16]
    status = record.status or "unfinished"
    return (
        one_line(record.thread).ljust(names) + f"  {status:<14}  {when}  " + one_line(record.task)
    )
