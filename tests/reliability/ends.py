"""What the rows about the ends of runs are made of."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from langgraph.graph import END, START, MessagesState, StateGraph
from pydantic import BaseModel

from headway.limits import Limits
from openai_server import Reply, Request, says
from reliability.scenario import Played, Row, Then, arguments, notes

PRICED = "openai:gpt-4o"
"""Priced, for a million tokens, at $2.50 in, $1.25 cached, $10 out."""

USED = {"prompt_tokens": 1_500, "completion_tokens": 600}
CENTS = 0.00975
"""US dollars for `USED`."""

HUGE = {"prompt_tokens": 100_000, "completion_tokens": 10}


def bash(command: str) -> Reply:
    return arguments({"command": command}, "bash")


def edit(old: str, new: str) -> Reply:
    return arguments({"path": "a.txt", "old_text": old, "new_text": new}, "edit")


def endless(request: Request) -> Reply:
    """A model that calls something new for ever, and answers where it cannot."""
    turn = sum(message["role"] == "assistant" for message in request.messages)
    return notes(f"line {turn}") if request.body.get("tools") else says("As far as I came.")


def stubborn(request: Request) -> Reply:
    """The same, calling even without tools."""
    return notes(f"line {sum(m['role'] == 'assistant' for m in request.messages)}")


def in_turn(request: Request, *replies: Reply) -> Reply:
    """The n-th reply of the conversation; the last one repeats."""
    past = sum(message["role"] == "assistant" for message in request.messages)
    return replies[min(past, len(replies) - 1)]


def lines(count: int) -> list[str]:
    return [f"line {n}" for n in range(count)]


def bounded(name: str, limits: Limits, ran: int, answer: str, **more: Any) -> Row:
    """A run that a limit ends with what it has; more of it lets the thread go on."""
    script = more.pop("script", endless)
    return Row(name, script, "limit", ran=lines(ran), told=["ok"] * ran, answer=answer,
               options={"limits": limits, **more.pop("options", {})}, **more)  # fmt: skip


RAISED = Then(status="limit", options={"limits": Limits(model_calls=6)}, told=["ok"] * 4)
MESSAGE = Then("Enough: what do you know?", status="limit")


def spent(cost: float | None, **more: Any) -> Callable[[Played], bool]:
    """Whether the outcome's usage is this."""

    def check(played: Played) -> bool:
        usage = played.outcome.usage
        known = usage.cost == cost if cost is None else abs((usage.cost or 0) - cost) < 1e-9
        return known and all(getattr(usage, name) == value for name, value in more.items())

    return check


def parent(limit: int) -> Callable[[Any], Any]:
    """The agent as a node of a graph with a recursion limit and a node behind it."""

    def build(agent: Any) -> Any:
        graph = StateGraph(Ended)
        graph.add_node("agent", agent)
        graph.add_node("after", lambda state: {})
        graph.add_edge(START, "agent")
        graph.add_edge("agent", "after")
        graph.add_edge("after", END)
        return graph.compile().with_config({"recursion_limit": limit})

    return build


class Ended(MessagesState):
    outcome: dict[str, Any]


class City(BaseModel):
    name: str
    people: int


def fact(*parts: str) -> Callable[[Played], bool]:
    """Whether each of these stands in a sentence of what was established."""
    return lambda p: all(any(x in line for line in p.outcome.established) for x in parts)


def facts(files: list[str], commands: list[tuple[str, int | None]], verified: bool | None) -> Any:
    """Whether the outcome names exactly these, whatever the model said."""

    def check(played: Played) -> bool:
        outcome = played.outcome
        return (
            [change.path for change in outcome.files] == files
            and [(run.command, run.exit_code) for run in outcome.commands] == commands
            and outcome.verified is verified
        )

    return check


def once(text: str) -> Callable[[Played], bool]:
    return lambda p: sum(text in warning for warning in p.outcome.warnings) == 1


def at_least_40(answer: str, workspace: Path | None) -> bool | str:
    return answer.isdigit() or "the answer is a number"


LIES = "I wrote out.json and all tests pass."
NOPE = bash("cat nope")
CITY = '{"name": "Paris", "people": 2100000}'
