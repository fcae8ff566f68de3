"""The handler that docs/deploy.md shows: who has no token is served nothing."""

import json
import re
from collections.abc import Iterator

import httpx
import pytest
from langgraph_sdk import get_client
from serving_support import ROOT, Served, langgraph_dev, task

TOKEN = "open-sesame-4f1d"


@pytest.fixture(scope="module")
def guarded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    page = (ROOT / "docs" / "deploy.md").read_text()
    section = page.split("### Authentication")[1]
    config = re.search("```json\n(.*?)```", section, re.DOTALL)
    handler = re.search("```python\n(.*?)```", section, re.DOTALL)
    assert config
    assert handler
    folder = tmp_path_factory.mktemp("guarded")
    (folder / "auth.py").write_text(handler[1])
    with langgraph_dev(folder, json.loads(config[1]), {"SERVER_TOKEN": TOKEN}) as server:
        yield server


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"authorization": "Bearer wrong"},
        {"authorization": ""},
        {"x-api-key": TOKEN},
        {"x-auth-scheme": "langsmith"},
        {"x-auth-scheme": "langsmith-agent", "x-tenant-id": "x", "x-user-id": "x"},
    ],
    ids=str,
)
def test_without_the_token_nothing_is_served(guarded: Served, headers: dict[str, str]) -> None:
    asked = len(guarded.model.requests)
    with httpx.Client(base_url=guarded.url, headers=headers) as client:
        for path in ("/threads", "/threads/search", "/assistants/search", "/store/namespaces"):
            assert client.post(path, json={}).status_code == 401, path
        given = {"assistant_id": "headway", "input": task("bash: echo hi", "say: one")}
        assert client.post("/runs/wait", json=given).status_code == 401
        assert client.post("/runs/stream", json=given).status_code == 401
    assert len(guarded.model.requests) == asked


async def test_with_the_token_a_run_is_served(guarded: Served) -> None:
    headers = {"authorization": f"Bearer {TOKEN}"}
    async with get_client(url=guarded.url, headers=headers) as client:
        thread = await client.threads.create()
        values = await client.runs.wait(
            thread["thread_id"], "headway", input=task("bash: echo hi", "say: one")
        )
    assert isinstance(values, dict)
    assert values["outcome"]["status"] == "completed"


def test_a_foreign_page_is_refused_even_with_the_token(guarded: Served) -> None:
    headers = {"authorization": f"Bearer {TOKEN}", "origin": "https://evil.example"}
    answer = httpx.post(f"{guarded.url}/threads/search", json={}, headers=headers)
    assert answer.status_code == 403
    assert "access-control-allow-origin" not in answer.headers
