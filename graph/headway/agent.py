"""The whole graph. A served process gets it from `graph`; everyone else from `build_agent`.

START → enter → agent ─tool_calls→ (approve) → tools → progress → truncate ─→ agent | finish
                  └─no tool_calls→ verify ─→ END | agent | finish
"""

from functools import partial
from typing import Literal

from langgraph.graph import END, START, StateGraph
from langgraph.graph.state import CompiledStateGraph

from headway.context import Context
from headway.fence import afenced, fenced
from headway.history import open_calls
from headway.nodes.agent import aagent, agent
from headway.nodes.approve import approve
from headway.nodes.enter import enter
from headway.nodes.finish import finish
from headway.nodes.progress import progress
from headway.nodes.tools import Tools
from headway.nodes.truncate import truncate
from headway.nodes.verify import averify, verify
from headway.parts import Parts, Twin
from headway.state import Counted, InputState, OutputState, State


def assemble(parts: Parts) -> StateGraph[State, Context, InputState, OutputState]:
    """The eight nodes and their edges."""
    graph = StateGraph(
        State, context_schema=Context, input_schema=InputState, output_schema=OutputState
    )
    graph.add_node("enter", fenced(enter, parts))
    graph.add_node("agent", Twin(fenced(agent, parts), afenced(aagent, parts)))
    graph.add_node("approve", fenced(approve, parts))
    graph.add_node("tools", Tools(parts))
    graph.add_node("progress", partial(progress, parts=parts))
    graph.add_node("truncate", partial(truncate, parts=parts))
    graph.add_node("verify", Twin(fenced(verify, parts), afenced(averify, parts)))
    graph.add_node("finish", fenced(finish, parts))

    graph.add_edge(START, "enter")
    graph.add_edge("enter", "agent")
    graph.add_conditional_edges("agent", after_agent, ["approve", "tools", "verify", "finish"])
    graph.add_edge("approve", "tools")
    graph.add_edge("tools", "progress")
    graph.add_edge("progress", "truncate")
    graph.add_conditional_edges("truncate", after_truncate, ["agent", "finish"])
    graph.add_conditional_edges("verify", after_verify, ["agent", "finish", END])
    graph.add_conditional_edges("finish", after_finish, ["agent", END])
    return graph


def after_agent(state: State) -> Literal["approve", "tools", "verify", "finish"]:
    """The conditional edge on tool_calls."""
    run = state.get("hw_run", {})
    if run.get("stop"):
        return "finish"
    if not open_calls(state["messages"]).calls:
        return "verify"
    return "approve" if run.get("ask") else "tools"


def after_truncate(state: Counted) -> Literal["agent", "finish"]:
    """Back to the model, or to the end."""
    return "finish" if state.get("hw_run", {}).get("stop") else "agent"


def after_verify(state: State) -> str:
    """The end, another try, or the partial result."""
    run = state.get("hw_run", {})
    if run.get("stop"):
        return "finish"
    return END if state.get("outcome") else "agent"


def after_finish(state: State) -> str:
    """The end, unless a person said to go on."""
    return END if state.get("outcome") else "agent"


def graph() -> CompiledStateGraph[State, Context, InputState, OutputState]:
    """The served graph, configured by the operator's environment (`docs/deploy.md`)."""
    from headway.serve import served

    return served()
