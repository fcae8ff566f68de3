"""Random conversations, replies and edits, and a model that checks each request it is sent."""

from dataclasses import dataclass, field
from typing import Any

from hypothesis import strategies as st
from langchain_core.messages import (
    AIMessage,
    AIMessageChunk,
    BaseMessage,
    ChatMessage,
    FunctionMessage,
    HumanMessage,
    SystemMessage,
    ToolMessage,
)
from langchain_core.tools import tool
from langchain_core.utils.function_calling import convert_to_openai_tool
from wire_support import sent

from headway import build_agent
from headway.build import Agent
from headway.reply import RAW_CALLS
from headway.testing import PolicyModel
from wire_rules import wire_problems

ids = st.sampled_from(["c0", "c1", "x", "", None, "x" * 70, "\ud800"])
texts = st.sampled_from(["", " ", "fine", "\x00", "a\ud800b", "I'll run it now.", "<tool_call>{"])
values = st.sampled_from(["", "{", "[1]", "null", '{"text": "a"}', '{"text": 3}', "\ud800", None])


@tool
def echo(text: str) -> str:
    """Say it again."""
    return text


@tool
def boom() -> str:
    """Fail."""
    raise RuntimeError("boom")


names = st.sampled_from(["echo", "boom", "nope", ""])
good_calls = st.builds(
    lambda name, id_: {"name": name, "args": {"text": "a"}, "id": id_, "type": "tool_call"},
    names, ids,
)  # fmt: skip
bad_calls = st.builds(
    lambda name, args, id_: {
        "name": name, "args": args, "id": id_, "error": None, "type": "invalid_tool_call",
    },
    names, st.one_of(values), ids,
)  # fmt: skip
blocks = st.sampled_from([
    {"type": "text", "text": "seen"},
    {"type": "text", "text": ""},
    {"type": "function_call", "name": "echo", "arguments": "{}", "call_id": "c0"},
    {"type": "tool_use", "name": "echo", "input": {}, "id": "c1"},
    {"type": "reasoning", "reasoning": "hm"},
    {"type": "text", "text": None},
    {"type": "text"},
    {"type": "image_url", "image_url": {"url": "data:image/png;base64,AA=="}},
    {"type": "novel", "value": float("nan")},
    {},
    "bare",
    "",
])  # fmt: skip
contents = st.one_of(texts, st.lists(blocks, max_size=3))

replies = st.one_of(
    st.builds(
        lambda content, calls, bad: AIMessage(
            content, tool_calls=calls, invalid_tool_calls=bad
        ),
        contents, st.lists(good_calls, max_size=3), st.lists(bad_calls, max_size=2),
    ),
    st.builds(
        lambda raw, finish: AIMessage(
            "", additional_kwargs={RAW_CALLS: raw}, response_metadata={"finish_reason": finish}
        ),
        st.lists(st.fixed_dictionaries({"id": ids, "name": names, "args": values}), max_size=3),
        st.sampled_from(["stop", "tool_calls", "length", "content_filter"]),
    ),
)  # fmt: skip
"""What a model may return."""

notes = st.sampled_from([
    {},
    {"headway": "x"},
    {"headway": {"call_errors": None, "remarks": None, "problem": 3}},
    {"headway": {"remarks": "x", "partial": True}},
    {"finish_reason": 3},
])  # fmt: skip
extras = st.sampled_from([
    {},
    {"tool_calls": "x"},
    {"tool_calls": [3], "function_call": 3},
    {"reasoning_content": 3, "refusal": 3},
    {"headway_raw_calls": [3]},
    {"headway_reading": "x"},
    {"merged": [3], "code": 3},
])  # fmt: skip

asides = st.one_of(
    st.builds(HumanMessage, contents, name=st.sampled_from([None, "headway"])),
    st.builds(
        AIMessage, contents, tool_calls=st.lists(good_calls, max_size=2), response_metadata=notes,
        additional_kwargs=extras,
    ),
    st.builds(AIMessageChunk, contents, tool_calls=st.lists(good_calls, max_size=2)),
    st.builds(
        ToolMessage, contents, tool_call_id=ids.map(lambda i: i or ""), response_metadata=notes,
        additional_kwargs=extras, artifact=st.sampled_from([None, "x", {"output": 3}]),
    ),
    st.builds(SystemMessage, texts),
    st.builds(lambda text, id_: ToolMessage(text, tool_call_id=id_ or ""), texts, ids),
    st.builds(lambda text: ChatMessage(text, role="developer"), texts),
    st.builds(lambda text: FunctionMessage(text, name="echo"), texts),
)  # fmt: skip

conversations = st.lists(st.one_of(replies, asides), max_size=7)
"""What a host may hand over, or a person may write into a state."""


@dataclass
class Checked:
    """A model that plays `script` by the number of replies before, and notes every request that
    the strictest server would refuse."""

    script: list[AIMessage]
    requests: int = 0
    problems: list[str] = field(default_factory=list)

    def agent(self, checkpointer: Any = None, **options: Any) -> Agent:
        return build_agent(
            PolicyModel(policy=self.reply),
            tools=[echo, boom],
            checkpointer=checkpointer,
            memory=True,
            **options,
        )

    def reply(self, messages: list[BaseMessage], tools: list[dict[str, Any]]) -> AIMessage:
        self.requests += 1
        self.problems += body_problems(messages, tools)
        past = sum(isinstance(message, AIMessage) for message in messages)
        return self.script[past] if past < len(self.script) else AIMessage("That is all.")


def body_problems(messages: list[BaseMessage], tools: list[Any]) -> list[str]:
    """What the strictest server refuses about this request as it leaves."""
    body: dict[str, Any] = {"messages": sent(messages)}
    return wire_problems(
        body | ({"tools": [convert_to_openai_tool(t) for t in tools]} if tools else {})
    )
