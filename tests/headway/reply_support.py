"""A scripted reply by HTTP as the run sees it, and what was noted about it."""

from typing import Any

from langchain_core.messages import AIMessage
from wire_support import ask, bash, opened, read_file

from headway.reply import settle
from openai_server import OpenAIServer, Reply

TOOLS = {"read_file": read_file, "bash": bash}


def reply_to(*replies: Reply, way: str, **options: Any) -> AIMessage:
    with OpenAIServer(replies) as server:
        message = ask(opened(server.url), way, **options)
        assert server.refused == []
        assert [request.streamed for request in server.requests] == ["stream" in way] * len(replies)
    return settle(message, tools=TOOLS, known_ids=set())


def errors_of(message: AIMessage) -> dict[str, Any]:
    return dict(message.response_metadata["headway"]["call_errors"])


def problem_of(message: AIMessage) -> object:
    return message.response_metadata["headway"]["problem"]
