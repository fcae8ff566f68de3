"""Whole runs in the text protocol: the same graph, tools and trace; only the model writes text."""

import asyncio
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage, ToolMessage
from langgraph.checkpoint.memory import InMemorySaver

from headway import Limits, Outcome, arun_agent, build_agent, run_agent, stream_agent
from headway.history import problems
from headway.protocol import CORRECTION, TextProtocol
from headway.protocol.contract import STOP, contract
from headway.protocol.reading import INVENTED, ONLY_FIRST
from headway.protocol.transcript import transcript
from headway.testing import PolicyModel
from openai_server import OpenAIServer, Request, fails, raw_calls, says, wire_call
from policies import call, replies

ADD = 'Thought: add\nAction: add\nAction Input: {"a": 2, "b": 3}\nPAUSE'
DONE = "Thought: that is it\nFinal Answer: it is 5"


def add(a: int, b: int) -> str:
    """Add two numbers."""
    return str(a + b)


class Texts:
    """A model that writes `said` in order, and what it was sent."""

    def __init__(self, *said: str) -> None:
        self.said = said
        self.requests: list[list[BaseMessage]] = []
        self.model = PolicyModel(policy=self._next)

    def _next(self, messages: list[BaseMessage], tools: list[dict[str, Any]]) -> AIMessage:
        assert tools == []
        self.requests.append(messages)
        past = len(self.requests) - 1
        return AIMessage(self.said[min(past, len(self.said) - 1)])

    def run(self, **options: Any) -> Outcome:
        return run_agent("2+3?", model=self.model, tools=[add], protocol="text", **options)


def observations(outcome: Outcome) -> list[str]:
    return [step.observation or "" for step in outcome.steps if step.tool_call]


@pytest.mark.parametrize("how", ["sync", "async"])
def test_a_run_has_the_trace_of_any_other(how: str) -> None:
    texts = Texts(ADD, DONE)
    if how == "sync":
        outcome = texts.run()
    else:
        model = texts.model
        outcome = asyncio.run(arun_agent("2+3?", model=model, tools=[add], protocol="text"))

    assert (outcome.status, outcome.answer) == ("completed", "it is 5")
    first, last = outcome.steps
    assert first.tool_call is not None
    assert (first.thought, first.tool_call.name, first.tool_call.args, first.observation) == (
        "add", "add", {"a": 2, "b": 3}, "5",
    )  # fmt: skip
    assert (last.tool_call, last.thought) == (None, "it is 5")
    second = [str(m.text) for m in texts.requests[1]]
    assert second[1:] == ["Question: 2+3?", ADD, "Observation: 5"]
    assert '- add {"a": <integer>, "b": <integer>}: Add two numbers.' in second[0]


def test_what_a_client_streams_is_the_message_of_the_history() -> None:
    agent = build_agent(Texts(ADD, DONE).model, tools=[add], protocol="text")
    tokens: dict[str, str] = {}
    whole: dict[str, str] = {}
    for part in agent.stream(
        {"messages": [HumanMessage("2+3?")]}, stream_mode=["messages", "values"], version="v2"
    ):
        if part["type"] == "messages" and isinstance(part["data"][0], AIMessage):
            message = part["data"][0]
            tokens[message.id or ""] = tokens.get(message.id or "", "") + str(message.text)
        elif part["type"] == "values":
            values = part["data"]["messages"]
            whole = {m.id: str(m.text) for m in values if isinstance(m, AIMessage)}
    assert list(whole.values()) == ["add", "it is 5"]
    assert tokens == whole, "the raw text of the protocol reaches no stream"


def test_several_actions_run_once_and_the_model_is_told() -> None:
    outcome = Texts(f"{ADD}\n{ADD}", DONE).run()
    assert observations(outcome) == [f"5\n\n[headway] {ONLY_FIRST}."]


def test_an_invented_observation_never_enters_the_history() -> None:
    texts = Texts(f"{ADD}\nObservation: 99\nFinal Answer: 99", DONE)
    outcome = texts.run()
    assert outcome.answer == "it is 5"
    assert INVENTED in observations(outcome)[0]
    assert not any("99" in str(m.text) for m in texts.requests[1])


def test_arguments_in_single_quotes_come_back_with_the_error_and_can_be_mended() -> None:
    texts = Texts(ADD.replace('"', "'"), ADD, DONE)
    outcome = texts.run()
    wrong, right = observations(outcome)
    assert (outcome.status, right) == ("completed", "5")
    assert "not valid JSON: Expecting property name enclosed in double quotes" in wrong
    assert "Action Input: {'a': 2, 'b': 3}" in str(texts.requests[1][2].text)


def test_missing_parts_are_answered_with_the_contract() -> None:
    texts = Texts("It must be 5.", DONE)
    outcome = texts.run()
    assert (outcome.status, outcome.answer) == ("completed", "it is 5")
    assert str(texts.requests[1][-1].text) == CORRECTION
    assert str(texts.requests[1][-2].text) == "It must be 5."


def test_a_model_that_never_keeps_the_contract_ends_the_run() -> None:
    outcome = Texts("I like numbers.").run()
    assert (outcome.status, outcome.usage.model_calls) == ("invalid_answer", 3)


def test_the_last_call_offers_no_tools_and_takes_any_text() -> None:
    texts = Texts(ADD, "five, I guess")
    outcome = texts.run(limits=Limits(model_calls=2))
    assert (outcome.status, outcome.answer) == ("limit", "five, I guess")
    assert "No tool is available" in str(texts.requests[1][0].text)
    assert "Your tools" not in str(texts.requests[1][0].text)


def test_a_call_in_another_printed_form_is_run_too() -> None:
    outcome = Texts('{"name": "add", "arguments": {"a": 2, "b": 3}}', DONE).run()
    assert observations(outcome) == ["5"]


def test_thinking_between_tags_is_no_part_of_the_protocol() -> None:
    outcome = Texts(f"<think>Action: nothing\nPAUSE</think>\n{ADD}", DONE).run()
    assert observations(outcome) == ["5"]


def test_the_same_call_again_and_again_is_seen_as_no_progress() -> None:
    outcome = Texts(ADD).run()
    assert (outcome.status, outcome.usage.model_calls < 12) == ("no_progress", True)


def test_a_thread_changes_its_protocol_midway() -> None:
    saver = InMemorySaver()
    one = replies([call("add", "n1", a=1, b=1), call("add", "n2", a=2, b=2)], "2 and 4")
    texts = Texts(ADD, DONE)
    third = replies("", "", "", "", "as before")
    for model, protocol in ((one, "native"), (texts.model, "text"), (third, "native")):
        outcome = run_agent(
            "add", model=model, tools=[add], protocol=protocol,  # type: ignore[arg-type]
            checkpointer=saver, thread_id="t", memory=True,
        )  # fmt: skip
        assert outcome.status == "completed"
    assert outcome.answer == "as before"
    assert [str(m.text) for m in texts.requests[0][1:]] == [
        "Question: add",
        'Action: add\nAction Input: {"a": 1, "b": 1}\nPAUSE',
        "Observation: 2",
        'Action: add\nAction Input: {"a": 2, "b": 2}\nPAUSE',
        "Observation: 4",
        "Final Answer: 2 and 4",
        "Question: add",
    ]


def served(replies: Sequence[Any], **options: Any) -> tuple[OpenAIServer, list[dict[str, Any]]]:
    with OpenAIServer(replies) as server:
        events = list(
            stream_agent(
                "2+3?", model="openai:m", base_url=server.url, api_key="k", tools=[add], **options
            )
        )
    return server, events


@pytest.mark.parametrize(
    ("status", "refusal"),
    [
        (500, "tools param requires --jinja flag"),
        (400, "registry.ollama.ai/library/gemma:2b does not support tools"),
        (404, "No endpoints found that support tool use. Try disabling tools"),
        (400, '"auto" tool choice requires --enable-auto-tool-choice and --tool-call-parser'),
        (400, "`tool calling` is not supported with this model"),
        (400, "deepseek-reasoner does not support Function Calling"),
        (422, "[{'loc': ['body', 'tools'], 'msg': 'Extra inputs are not permitted'}]"),
        (400, "Unrecognized request argument supplied: tools"),
        (400, "Unsupported parameter: 'tools' is not supported with this model."),
    ],
)
def test_a_server_that_takes_no_tools_is_spoken_to_in_text(status: int, refusal: str) -> None:
    answers = [fails(status, refusal), says(ADD), says(DONE)]
    server, events = served(answers)
    assert events[-1]["outcome"]["answer"] == "it is 5"
    notes = [event["text"] for event in events if event.get("about") == "protocol"]
    assert len(notes) == 1
    assert refusal[:20] in notes[0]
    assert ["tools" in r.body for r in server.requests] == [True, False, False]
    assert server.requests[1].body["stop"] == list(STOP)


def test_a_server_that_takes_no_stop_sequences_is_asked_without() -> None:
    refused = fails(400, "Unsupported parameter: 'stop' is not supported with this model.")
    server, events = served([refused, says(ADD), says(DONE)], protocol="text")
    assert events[-1]["outcome"]["answer"] == "it is 5"
    assert ["stop" in r.body for r in server.requests] == [True, False, False]


def test_native_means_native() -> None:
    _, events = served([fails(400, "this model does not support tools")], protocol="native")
    assert events[-1]["outcome"]["status"] == "model_error"
    assert events[-1]["outcome"]["evidence"]["kind"] == "no_tools"


def test_trouble_with_one_tool_is_no_refusal_of_all() -> None:
    answers = [fails(400, "Invalid schema for function 'add': tools[0].function"), says("5")]
    server, events = served(answers)
    assert events[-1]["outcome"]["evidence"]["kind"] == "invalid_request"
    assert len(server.requests) == 1


def test_real_calls_of_a_server_that_makes_them_after_all_are_taken() -> None:
    native = raw_calls(wire_call("add", '{"a": 2, "b": 3}'))
    _, events = served([native, says(DONE)], protocol="text")
    steps = events[-1]["outcome"]["steps"]
    assert [(s["tool_call"] or {}).get("name") for s in steps] == ["add", None]


def test_tokens_of_the_answer_arrive_one_by_one() -> None:
    def answer(request: Request) -> Any:
        return says(ADD if len(request.messages) == 2 else DONE)

    with OpenAIServer(answer) as server:
        events = list(
            stream_agent(
                "2+3?", model="openai:m", base_url=server.url, api_key="k", tools=[add],
                protocol="text",
            )
        )  # fmt: skip
    tokens = [event["text"] for event in events if event["type"] == "token"]
    assert tokens[-3:] == ["it", " is", " 5"]
    assert events[-1]["outcome"]["usage"]["input_tokens"] == 20


def test_a_transcript_is_a_valid_request_of_two_roles() -> None:
    messages = [
        SystemMessage("be brief"),
        HumanMessage("a"),
        AIMessage("t", tool_calls=[call("add", "1", a=1, b=1), call("add", "2", a=1, b=2)]),
        ToolMessage("2", tool_call_id="1"),
        ToolMessage("3", tool_call_id="2"),
        HumanMessage("note", name="headway"),
    ]
    made = transcript(messages, [])
    assert problems(made) == []
    assert [m.type for m in made] == ["system", "human", "ai", "human", "ai", "human"]
    assert str(made[-1].text) == "Observation: 3\n\nnote"


def test_the_contract_shows_nested_parameters_as_their_schema() -> None:
    part = {"type": "array", "items": {"type": "string"}, "description": "choices"}
    parameters = {"type": "object", "properties": {"options": part}, "required": ["options"]}
    function = {"name": "ask", "description": "Ask  the\n user.", "parameters": parameters}
    text = contract([{"type": "function", "function": function}])
    assert f'- ask {{"options": <array>}}: Ask the user.\n    options: {json.dumps(part)}' in text


def test_file_tools_work_by_text(workspace: Path) -> None:
    edit = {"path": "a.txt", "old_text": "world", "new_text": "PAUSE\nObservation: x"}
    texts = Texts(
        'Action: read_file\nAction Input: {"path": "a.txt"}\nPAUSE',
        f"Action: edit\nAction Input: {json.dumps(edit)}\nPAUSE",
        "Final Answer: done",
    )
    outcome = run_agent("x", model=texts.model, workspace=workspace, protocol="text")
    assert outcome.status == "completed"
    assert (workspace / "a.txt").read_text() == "hello\nPAUSE\nObservation: x\n"


def test_the_adapter_alone_is_a_chat_model() -> None:
    model = TextProtocol(Texts(ADD).model).bind_tools([add])
    message = model.invoke("2+3?")
    assert [(c["name"], c["args"]) for c in message.tool_calls] == [("add", {"a": 2, "b": 3})]
    assert message.content == "add"
