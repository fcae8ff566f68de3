"""What `langgraph build` would put into an image: the project, at the paths that it names."""

import json
import re
import subprocess
import sys
from pathlib import Path

from serving_support import ROOT


def test_the_paths_of_the_generated_image_are_those_of_the_project(tmp_path: Path) -> None:
    target = tmp_path / "Dockerfile"
    command = [sys.executable, "-m", "langgraph_cli", "dockerfile", "-c", "langgraph.json"]
    subprocess.run([*command, str(target)], cwd=ROOT, check=True, capture_output=True)
    text = target.read_text()
    added = re.search(r"^ADD \. (\S+)$", text, re.MULTILINE)
    assert added
    variables = dict(re.findall(r"^ENV (\w+)='(.*)'$", text, re.MULTILINE))
    graph = json.loads(variables["LANGSERVE_GRAPHS"])["headway"]["path"]
    app = json.loads(variables["LANGGRAPH_HTTP"])["app"]
    for named in (graph, app):
        path, _, symbol = named.removeprefix(f"{added[1]}/").partition(":")
        assert re.search(rf"^(def )?{symbol}\b", (ROOT / path).read_text(), re.MULTILINE)
