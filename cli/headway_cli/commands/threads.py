"""`headway threads`: what this data folder holds, the newest first. Reads no checkpoint."""

import argparse
import sys

from headway.threads import ThreadRecord, records, word_for
from headway_cli.options import the_home
from headway_cli.output import SCHEMA_VERSION, dumps
from headway_cli.streams import put, tell
from headway_cli.terminal import one_line, row, terminal_of


def run(args: argparse.Namespace) -> int:
    """Print all threads."""
    home = the_home()
    if not home.checkpoints.exists():
        home.writable()
    found = [(record, word_for(home, record)) for record in records(home)]
    if args.json:
        rows = [
            {**record.model_dump(exclude={"options", "version"}), "state": word}
            for record, word in found
        ]
        put(dumps({"schema_version": SCHEMA_VERSION, "threads": rows}))
        return 0
    if not found:
        tell("no thread yet: headway demo")
    put(table(found, terminal_of(sys.stdout).width), end="")
    return 0


def table(found: list[tuple[ThreadRecord, str]], width: int) -> str:
    """One line a thread: name, how it stands, time, task."""
    names = max((len(record.thread) for record, _ in found), default=0)
    return "".join(row(_line(record, word, names), width) + "\n" for record, word in found)


def _line(record: ThreadRecord, word: str, names: int) -> str:
    when = record.updated.replace("T", " ")[:16]
    return one_line(record.thread).ljust(names) + f"  {word:<14}  {when}  " + one_line(record.task)
