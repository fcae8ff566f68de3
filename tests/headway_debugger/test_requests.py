"""`show --request`: as it was sent, or with what was otherwise."""

from pathlib import Path
from typing import Any

import pytest
from langchain_core.messages import AIMessage

from headway import Limits, run_agent
from headway.models.failure import ModelFailure
from headway.testing import PolicyModel
from headway.threads import load_record, save_record
from headway_debugger.requests import SentRequest, request_at
from headway_debugger.threads import open_thread
from headway_tools.home import Home
from policies import bash, replies

SAID = (bash("echo 1 >> log", "c1"), bash("echo 2 >> log", "c2"), "done")


@pytest.fixture
def home(own_home: Path) -> Home:
    return Home(own_home)


class Kept:
    """Remembers each request as the model got it."""

    def __init__(self, *said: Any) -> None:
        self.requests: list[Any] = []
        policy = replies(*(said or SAID)).policy

        def kept(messages: Any, tools: Any) -> Any:
            self.requests.append((messages, tools))
            return policy(messages, tools)

        self.model = PolicyModel(policy=kept)


def requests(home: Home) -> list[SentRequest]:
    with open_thread(home, "t") as thread:
        line = thread.tree.branches["main"].nodes
        return [request_at(thread, node) for node in line if "agent" in node.writers]


def test_every_request_is_shown_as_the_model_got_it(workspace: Path, home: Home) -> None:
    kept = Kept()
    options: Any = {"model": kept.model, "workspace": workspace, "thread_id": "t"}
    first = run_agent("first", limits=Limits(model_calls=2), **options)
    second = run_agent(None, limits=Limits(model_calls=9), **options)
    assert (first.status, second.status) == ("limit", "completed")
    shown = requests(home)
    assert len(shown) == len(kept.requests) > 2
    for sent, (messages, tools) in zip(shown, kept.requests, strict=True):
        assert [m.content for m in sent.messages] == [m.content for m in messages]
        assert sent.tools == tools
        assert sent.differs == []


def test_a_request_of_the_text_protocol_is_shown_as_the_text_that_was_sent(
    workspace: Path, home: Home
) -> None:
    kept = Kept(
        'Thought: I begin\nAction: bash\nAction Input: {"command": "echo 1 >> log"}\nPAUSE',
        "Final Answer: done",
    )
    options: Any = {"workspace": workspace, "thread_id": "t", "protocol": "text"}
    assert run_agent("first", model=kept.model, **options).status == "completed"
    shown = requests(home)
    assert len(shown) == len(kept.requests) == 2
    for sent, (messages, _) in zip(shown, kept.requests, strict=True):
        assert (sent.protocol, sent.differs) == ("text", [])
        assert [(m.type, m.content) for m in sent.messages] == [
            (m.type, m.content) for m in messages
        ]
    assert "Observation" in str(shown[1].messages[-1].content)


def test_a_request_that_was_refused_as_too_long_is_shown_as_it_was_sent_then(
    workspace: Path, home: Home
) -> None:
    sent: list[Any] = []

    def policy(messages: Any, tools: Any) -> AIMessage:
        sent.append(messages)
        number = len(sent)
        if number == 4:
            raise ModelFailure("context_length", "too long")
        calls = [bash(f"seq {number}000 {number}999", f"c{number}")] if number < 7 else []
        return AIMessage("" if calls else "done", tool_calls=calls)

    run_agent("count", model=PolicyModel(policy=policy), workspace=workspace, thread_id="t")
    del sent[3]
    shown = requests(home)
    assert len(str(sent[3])) < len(str(sent[2]))
    assert [[m.content for m in one.messages] for one in shown] == [
        [m.content for m in messages] for messages in sent
    ]


def test_what_was_otherwise_is_named(workspace: Path, home: Home) -> None:
    run_agent("first", model=replies(*SAID), workspace=workspace, thread_id="t")
    record = load_record(home, "t")
    changed = {**record.options, "instructions": "be kind", "interactive": True}
    save_record(home, record.model_copy(update={"options": changed}))
    named = requests(home)[0].differs or []
    assert [what.partition(" (")[0] for what in named] == ["the system message", "the tools"]


def test_a_request_that_was_not_sent_yet_is_not_claimed_to_be(workspace: Path, home: Home) -> None:
    run_agent("first", model=replies(*SAID), workspace=workspace, thread_id="t", ask="edits")
    with open_thread(home, "t") as thread:
        entered = next(n for n in thread.tree.nodes.values() if "enter" in n.writers)
        assert request_at(thread, entered).differs == []
        run_node = thread.tree.nodes[thread.node().id]
        assert "agent" in run_node.writers
