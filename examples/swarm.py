"""A swarm (langgraph-swarm): one headway hands over to another, which stays in charge."""

from langchain_core.messages import HumanMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph_swarm import create_handoff_tool, create_swarm
from models import call, says

from headway import build_agent


def main() -> None:
    reader = build_agent(
        says(call("transfer_to_writer")),
        tools=[create_handoff_tool(agent_name="writer")],
        name="reader",
    )
    writer = build_agent(
        says("I write from here on."),
        tools=[create_handoff_tool(agent_name="reader")],
        name="writer",
    )
    graph = create_swarm([reader, writer], default_active_agent="reader").compile(
        checkpointer=InMemorySaver()
    )
    thread = {"configurable": {"thread_id": "swarm"}}
    for text in ("Write me a letter.", "And another one."):
        result = graph.invoke({"messages": [HumanMessage(text)]}, thread)
        print(f"{result['active_agent']}: {result['messages'][-1].text}")


if __name__ == "__main__":
    main()
