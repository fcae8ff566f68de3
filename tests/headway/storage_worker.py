"""One worker: `storage_worker.py FOLDER start|resume`, with a store and checkpoints in FOLDER.

Its own data folder is `HEADWAY_HOME`. Prints how the run ended.
"""

import sqlite3
import sys
from contextlib import closing
from pathlib import Path

from langgraph.checkpoint.sqlite import SqliteSaver

from headway import run_agent
from headway_tools.errors import HeadwayError
from headway_tools.home import Home
from headway_tools.storage import FolderStorage
from policies import bash, replies


def main(folder: Path, verb: str) -> str:
    storage = FolderStorage(Home(folder / "shared"))
    database = sqlite3.connect(folder / "db.sqlite", timeout=30, check_same_thread=False)
    with closing(database):
        try:
            done = run_agent(
                "go" if verb == "start" else None,
                model=replies(bash("echo 1 >> log; sleep 600"), "done"),
                workspace=folder / "workspace",
                thread_id="t",
                checkpointer=SqliteSaver(database),
                storage=storage,
            )
        except HeadwayError as error:
            return str(error)
    told = "it may have run" if "may have run" in str(done.steps) else "nothing else"
    return f"{done.status}: {told}"


sys.stdout.write(main(Path(sys.argv[1]), sys.argv[2]))
