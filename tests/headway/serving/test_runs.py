"""Runs on a server: what its forms show, what its streams carry, questions and their answers."""

import asyncio
import json
from typing import Any

from langgraph_sdk.client import LangGraphClient
from serving_support import Served, task

MODES: Any = [
    "values", "updates", "messages-tuple", "messages", "tasks", "checkpoints", "debug", "events",
    "custom",
]  # fmt: skip
RAW = "".join(f"{n:07}\n" for n in range(5000))


async def test_the_form_shows_the_callers_half_and_nothing_private(client: LangGraphClient) -> None:
    (assistant,) = await client.assistants.search(metadata={"created_by": "system"})
    schemas = await client.assistants.get_schemas(assistant["assistant_id"])
    context: Any = schemas["context_schema"]
    assert set(context["properties"]) == {"model", "limits", "instructions", "ask", "thoughts"}
    assert all(field["description"] for field in context["properties"].values())
    assert context["properties"]["instructions"]["langgraph_type"] == "prompt"
    assert context["$defs"]["Limits"]["properties"]["model_calls"]["minimum"] == 1
    assert list(schemas["input_schema"]["properties"]) == ["messages"]  # type: ignore[index]
    assert set(schemas["output_schema"]["properties"]) == {"messages", "outcome"}  # type: ignore[index]


async def test_the_graph_is_drawn_with_its_eight_nodes(client: LangGraphClient) -> None:
    (assistant,) = await client.assistants.search(metadata={"created_by": "system"})
    drawn = await client.assistants.get_graph(assistant["assistant_id"])
    names = {str(node["id"]) for node in drawn["nodes"]} - {"__start__", "__end__"}
    assert names == {
        "enter", "agent", "approve", "tools", "progress", "truncate", "verify", "finish",
    }  # fmt: skip


async def test_a_run_ends_with_its_outcome_in_a_folder_of_its_thread(
    client: LangGraphClient, served: Served, thread: str
) -> None:
    values: Any = await client.runs.wait(
        thread, "headway", input=task("bash: echo hi > made; pwd", "say: done")
    )
    assert set(values) == {"messages", "outcome"}
    assert values["outcome"]["thread"] == thread
    assert (values["outcome"]["status"], values["messages"][-1]["content"]) == ("completed", "done")
    assert (served.workspace(thread) / "made").read_text() == "hi\n"
    assert str(served.workspace(thread)) in values["messages"][2]["content"]


async def test_an_assistant_configures_runs_by_its_context(
    client: LangGraphClient, served: Served, thread: str
) -> None:
    context: Any = {"model": "openai:second", "instructions": "Speak Frisian.", "ask": "all"}
    assistant = await client.assistants.create("headway", context=context)
    values: Any = await client.runs.wait(
        thread, assistant["assistant_id"], input=task("bash: pwd", "say: x")
    )
    request = served.model.requests[-1].body
    assert request["model"] == "second"
    assert "Speak Frisian." in request["messages"][0]["content"]
    assert values["__interrupt__"], "`ask` of the assistant holds for the run"


async def test_no_stream_carries_a_tools_raw_output(client: LangGraphClient, thread: str) -> None:
    parts = [
        part
        async for part in client.runs.stream(
            thread,
            "headway",
            input=task("bash: seq -f %07g 0 4999", "say: counted"),
            stream_mode=MODES,
        )
    ]
    seen = {part.event.partition("|")[0].partition("/")[0] for part in parts}
    assert {"values", "updates", "messages", "tasks", "checkpoints", "debug", "events"} <= seen
    assert "counted" in json.dumps([part.data for part in parts])
    middle = json.dumps(RAW[len(RAW) // 2 :][:200])[1:-1]
    carrying = {part.event for part in parts if middle in json.dumps(part.data)}
    assert carrying == set()


async def test_a_question_interrupts_and_its_answer_goes_on(
    client: LangGraphClient, thread: str
) -> None:
    values: Any = await client.runs.wait(
        thread, "headway", input=task("ask: red or blue?", "say: painted")
    )
    (asked,) = values["__interrupt__"]
    assert asked["value"]["action_requests"][0]["args"] == {"question": "red or blue?"}
    assert (await client.threads.get(thread))["status"] == "interrupted"

    answer: Any = {"decisions": [{"type": "respond", "message": "blue"}]}
    values = await client.runs.wait(thread, "headway", command={"resume": {asked["id"]: answer}})
    assert "blue" in values["messages"][2]["content"]
    assert values["outcome"]["status"] == "completed"


async def test_only_an_approved_or_edited_call_runs(
    client: LangGraphClient, served: Served
) -> None:
    async def made(decision: Any) -> str | None:
        """What the file holds after this decision about a call that writes it."""
        thread = (await client.threads.create())["thread_id"]
        lines = task("bash: echo yes > made", "say: ok")
        context: Any = {"ask": "all"}
        values: Any = await client.runs.wait(thread, "headway", input=lines, context=context)
        resume: Any = {values["__interrupt__"][0]["id"]: {"decisions": [decision]}}
        command: Any = {"resume": resume}
        values = await client.runs.wait(thread, "headway", command=command, context=context)
        assert values["outcome"]["status"] == "completed"
        path = served.workspace(thread) / "made"
        return path.read_text() if path.exists() else None

    edited = {"name": "bash", "args": {"command": "echo other > made"}}
    results = await asyncio.gather(
        made({"type": "approve"}),
        made({"type": "edit", "edited_action": edited}),
        made({"type": "reject"}),
    )
    assert results == ["yes\n", "other\n", None]
