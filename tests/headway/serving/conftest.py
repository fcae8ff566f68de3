"""One development server for all tests of serving."""

import re
from collections.abc import AsyncIterator, Iterator

import pytest
from langgraph_sdk import get_client
from langgraph_sdk.client import LangGraphClient
from serving_support import Served, langgraph_dev


@pytest.fixture(scope="session")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with langgraph_dev(tmp_path_factory.mktemp("server")) as server:
        yield server
        assert not re.findall("BlockingError.*", server.log.read_text())
        assert server.model.refused == []


@pytest.fixture
async def client(served: Served) -> AsyncIterator[LangGraphClient]:
    async with get_client(url=served.url) as opened:
        yield opened


@pytest.fixture
async def thread(client: LangGraphClient) -> str:
    return str((await client.threads.create())["thread_id"])
