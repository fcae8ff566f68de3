"""Reflexion: bounded trials; the reflection is carried on, the workspace is put back between."""

import tempfile
from pathlib import Path

from langchain_core.messages import AIMessage
from models import call, decides

from headway import Outcome, run_agent
from headway_tools.snapshots import Snapshots

TRIALS = 3
CHECK = "grep -q '^port = 8080$' app.conf"


def trying(request: str, past: int) -> str | AIMessage:
    """Without a reflection it writes the wrong form."""
    line = "port = 8080" if "Earlier trial" in request else "port: 8080"
    if past == 0:
        return call("edit", path="app.conf", old_text="port = 80\n", new_text=f"{line}\n")
    return "done"


def reflect(result: Outcome) -> str:
    """A model's place: what the failed trial teaches."""
    tried = [step.tool_call.args["new_text"] for step in result.steps if step.tool_call]
    return f"Earlier trial failed ({result.status}); it wrote {tried}. Keep the form `key = value`."


def main() -> None:
    folder = Path(tempfile.mkdtemp(prefix="headway-example-"))
    workspace, store = folder / "app", Snapshots(folder / "store")
    workspace.mkdir()
    (workspace / "app.conf").write_text("port = 80\n")
    before = store.take(workspace)
    task = "Set the port in app.conf to 8080."
    for trial in range(1, TRIALS + 1):
        result = run_agent(task, model=decides(trying), workspace=workspace, check=CHECK)
        print(f"trial {trial}: {result.status}, {(workspace / 'app.conf').read_text()!r}")
        if result.verified:
            break
        task = f"{task}\n{reflect(result)}"
        store.restore(before, workspace)
    store.close()


if __name__ == "__main__":
    main()
