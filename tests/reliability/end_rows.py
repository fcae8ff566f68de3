"""Rows: how runs end, what bounds them, how they go on, and what is said about them."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from langchain_core.tools import tool as make_tool
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.types import interrupt
from pydantic import BaseModel

from headway.limits import Limits
from openai_server import Reply, Request, fails, says
from reliability.scenario import DONE, Played, Row, Then, arguments, last_text, notes

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

END_ROWS: dict[str, list[Row]] = {
    "`completed`": [
        Row("an answer", [says("It is 3.")], answer="It is 3."),
        Row("an answer that a check proves", [notes("one"), DONE], ran=["one"], told=["ok"],
            options={"check": "grep one log"}, also=lambda p: p.outcome.verified is True),
        Row("an answer as data", [says(CITY)], options={"response_format": City},
            also=lambda p: p.outcome.structured == {"name": "Paris", "people": 2100000}),
        Row("at the second try of a check", [DONE, notes("one"), DONE], ran=["one"], told=["ok"],
            options={"check": "grep one log"}, also=lambda p: p.outcome.verified is True),
    ],
    "`invalid_answer`": [
        Row("empty", [says("")] * 6, "invalid_answer", requests=3,
            then=Then("Go on.", "invalid_answer")),
        Row("not in the asked form", [says("Paris")] * 3, "invalid_answer", evidence="schema",
            options={"response_format": City}),
        Row("a promise, after work", [notes("one"), *[says("I'll now run the tests.")] * 2],
            "invalid_answer", ran=["one"], told=["ok"], evidence="promise"),
    ],
    "`check_failed`": [
        Row("a command stays red", lambda r: DONE, "check_failed", options={"check": "exit 1"},
            also=lambda p: p.outcome.verified is False and "the check is red"
            in p.outcome.established),
        Row("a function stays dissatisfied", lambda r: says("many"), "check_failed",
            options={"verify": at_least_40}),
        Row("with another message it turns green", [*[DONE] * 3, notes("one"), DONE],
            "check_failed", ran=[], options={"check": "grep one log"},
            then=Then("Note one."), requests=3),
    ],
    "`model_refused`": [
        Row("a filter", [says("", "content_filter"), DONE], "model_refused", requests=1,
            then=Then("Then only count.")),
        Row("a refusal", [says(None, refusal="No."), DONE], "model_refused", answer="No.",
            requests=1, then=Then("Please.")),
        Row("a refusal after work", [notes("one"), says(None, refusal="No more.")],
            "model_refused", ran=["one"], told=["ok"]),
    ],
    "`no_progress`": [
        Row("one failing call for ever", lambda r: NOPE, "no_progress", evidence="repeat",
            told=None),
        Row("two calls in turns", lambda r: arguments({"path": ("a.txt", "b.txt")[
            sum(m["role"] == "assistant" for m in r.messages) % 2]}, "read_file"), "no_progress",
            told=None),
        Row("a message lets it go on", lambda r: DONE if "Stop looking" in last_text(r) else NOPE,
            "no_progress", told=None, then=Then("Stop looking.")),
    ],
    "`limit`: model calls": [
        bounded("the last reply answers", Limits(model_calls=3), 2, "As far as I came.",
                limit="model_calls"),
        Row("the last reply calls", stubborn, "limit", limit="model_calls", ran=lines(2),
            told=["ok", "ok", "not_run"], answer="", options={"limits": Limits(model_calls=3)}),
        bounded("a raised limit goes on", Limits(model_calls=3), 2, "As far as I came.",
                limit="model_calls", then=RAISED),
        bounded("a message goes on", Limits(model_calls=3), 2, "As far as I came.",
                limit="model_calls", then=MESSAGE),
    ],
    "`limit`: tool calls": [
        Row("a batch beyond it", [notes("one", "two", "three"), says("Two of three.")], "limit",
            limit="tool_calls", ran=["one", "two"], told=["ok", "ok", "not_run"],
            options={"limits": Limits(tool_calls=2)}),
        Row("none allowed", [notes("one"), says("Nothing done.")], "limit", limit="tool_calls",
            told=["not_run"], options={"limits": Limits(tool_calls=0)}),
        Row("exactly as many as allowed", [notes("one", "two"), DONE], ran=["one", "two"],
            told=["ok", "ok"], options={"limits": Limits(tool_calls=2)}),
        Row("a raised limit goes on", [notes("one", "two"), says("One of two."), notes("three"),
            DONE], "limit", limit="tool_calls", ran=["one"], told=["ok", "not_run"],
            options={"limits": Limits(tool_calls=1)}, requests=2,
            then=Then(told=["ok", "not_run", "ok"], options={"limits": Limits(tool_calls=9)})),
        Row("calls that could not run count not", [arguments("{"), notes("one"), DONE],
            ran=["one"], told=["invalid_arguments", "ok"],
            options={"limits": Limits(tool_calls=1)}),
    ],
    "`limit`: tokens": [
        Row("reported", [notes("one").but(usage=USED), says("So far.")], "limit", limit="tokens",
            ran=["one"], told=["ok"], answer="So far.", options={"limits": Limits(tokens=3_000)}),
        Row("far beyond", [notes("one").but(usage=HUGE)], "limit", limit="tokens", ran=["one"],
            told=["ok"], options={"limits": Limits(tokens=3_000)}),
        Row("estimated", [notes("one").but(usage=None), DONE], "limit", limit="tokens",
            ran=["one"], told=["ok"], options={"limits": Limits(tokens=3_500)}),
        Row("before the first call", [], "limit", limit="tokens",
            options={"limits": Limits(tokens=10)}),
    ],
    "`limit`: cost": [
        Row("checked before a call is sent", [notes("one").but(usage=USED)], "limit", limit="cost",
            ran=["one"], told=["ok"], model=PRICED, options={"limits": Limits(cost=0.010)},
            also=spent(CENTS)),
        Row("with one reply left it answers", [notes("one").but(usage=USED),
            says("So far.").but(usage=USED)], "limit", limit="cost", ran=["one"], told=["ok"],
            model=PRICED, answer="So far.", options={"limits": Limits(cost=0.0125)}),
        Row("before the first call", [], "limit", limit="cost", model=PRICED,
            options={"limits": Limits(cost=1e-6)}),
        Row("failed and repaired replies are paid", [arguments("{").but(usage=USED),
            says("").but(usage=USED), DONE.but(usage=USED)], told=["invalid_arguments"],
            model=PRICED, also=spent(3 * CENTS, model_calls=3)),
        Row("a reply that broke off is paid", [notes("half").but(cut=3), DONE.but(usage=USED)],
            model=PRICED, also=lambda p: p.outcome.usage.estimated
            and p.outcome.usage.input_tokens > 2_000),
    ],
    "cost: prices": [
        Row("unknown is unknown, and said once", [notes("one"), notes("two"), DONE],
            ran=["one", "two"], told=["ok", "ok"], options={"limits": Limits(cost=0.01)},
            warns="price of openai:m is not known",
            also=lambda p: spent(None)(p) and once("price")(p)),
        Row("unknown: tokens still limit", [notes("one").but(usage=HUGE)], "limit",
            limit="tokens", ran=["one"], told=["ok"],
            options={"limits": Limits(cost=0.01, tokens=3_000)}),
        Row("free is allowed", [notes("one").but(usage=USED), DONE], ran=["one"], told=["ok"],
            options={"limits": Limits(cost=0.01), "price": (0.0, 0.0)}, also=spent(0.0)),
        Row("the user's own", [DONE.but(usage=USED)], options={"price": (1.0, 10.0)},
            also=spent(0.0075)),
        Row("cached tokens are cheaper", [DONE.but(usage={**USED,
            "prompt_tokens_details": {"cached_tokens": 1_000}})], model=PRICED,
            also=spent(500 * 2.5e-6 + 1_000 * 1.25e-6 + 600 * 10e-6)),
    ],
    "limits from a depth": [
        Row(f"`{depth}`", endless, "limit", limit="model_calls", ran=lines(count),
            told=["ok"] * count, options={"limits": Limits.for_depth(depth, cost_ceiling=1.0)})
        for depth, count in (("simple", 2), ("ordinary", 3), ("hard", 5))
    ],
    "`limit`: seconds": [
        Row("a slow model", [says("late").but(delay=30)], "limit", limit="seconds",
            options={"limits": Limits(seconds=1.0)}),
        Row("a slow command", [bash("sleep 60")], "limit", limit="seconds", told=["timeout"],
            options={"limits": Limits(seconds=1.5)}),
        Row("a slow check", [DONE], "limit", limit="seconds",
            options={"limits": Limits(seconds=1.5), "check": "sleep 60"}),
    ],
    "`limit`: the steps of an outer graph": [
        Row(f"{limit} of them", endless, "limit", limit="steps", ran=lines(count),
            told=["ok"] * count + more, parent=parent(limit))
        for limit, count, more in ((8, 0, ["not_run"]), (14, 2, ["not_run"]), (30, 6, ["not_run"]))
    ],
    "`model_error`": [
        Row("resumed when the endpoint works again", [notes("one"), *[fails(500, "down")] * 4,
            DONE], "model_error", ran=["one"], told=["ok"], then=Then(told=["ok"]), requests=5),
        Row("or with a message", [fails(401, "no"), DONE], "model_error", requests=1,
            then=Then("Try again.")),
        Row("it says how long to wait", [fails(429, "busy", retry_after="900")], "model_error",
            also=lambda p: (p.outcome.evidence or {})["retry_after"] == 900),
    ],
    "`needs_approval`": [
        Row("approved", [bash("echo one >> log"), DONE], "needs_approval", told=["open"],
            options={"ask": "edits"}, requests=1,
            then=Then(told=["ok"], options={"decisions": [{"type": "approve"}]})),
        Row("a message instead", [bash("echo one >> log"), DONE], "needs_approval", told=["open"],
            options={"ask": "edits"}, requests=1, then=Then("Leave it.", told=[])),
        Row("a question", [arguments({"question": "Which?"}, "ask_user"), DONE], "needs_approval",
            told=["open"], options={"interactive": True, "tools": None}, requests=1,
            then=Then(told=["ok"],
                options={"decisions": [{"type": "respond", "message": "this"}]})),
        Row("a tool's interrupt()", [arguments({}, "act"), DONE], "needs_approval", told=["open"],
            tools=[make_tool("act", description="Ask.")(lambda: interrupt("sure?"))], requests=1,
            then=Then("Never mind.", told=[])),
    ],
    "`cancelled`": [
        Row("after a call", [notes("one"), notes("two"), DONE], "cancelled", stop_at="observation",
            ran=["one"], told=["ok"], requests=1, then=Then(told=["ok", "ok"])),
        Row("before a call", [notes("one"), DONE], "cancelled", stop_at="call", requests=1,
            told=["open"], then=Then(told=["ok"])),
        Row("then a message", [notes("one"), DONE], "cancelled", stop_at="call", requests=1,
            told=["open"], then=Then("Leave it.", told=[])),
    ],
    "the report: files really changed": [
        Row("prose names files that are not there", [says(LIES)], also=facts([], [], None)),
        Row("an edit", [edit("world", "there"), DONE], told=["ok"], saved=True,
            also=facts(["a.txt"], [], None)),
        Row("an edit that was undone", [edit("world", "there"), edit("there", "world"), DONE],
            told=["ok", "ok"], saved=True, also=facts([], [], None)),
        Row("a command's files", [bash("echo x > new; rm a.txt"), DONE], told=["ok"], saved=True,
            also=fact("new was added", "a.txt was deleted")),
    ],
    "the report: commands with exit codes": [
        Row("prose names tests that never ran", [bash("true"), says(LIES)], told=["ok"],
            also=facts([], [("true", 0)], None)),
        Row("a red one", [bash("exit 3"), says(LIES)], told=["ok"],
            also=facts([], [("exit 3", 3)], None)),
        Row("through a script", [bash("printf 'exit 4' > t.sh; sh t.sh"), says(LIES)],
            told=["ok"], also=fact("exited with 4")),
    ],
    "the report: older than the last edit": [
        Row("a command", [bash("true"), edit("world", "there"), says(LIES)], told=["ok", "ok"],
            saved=True, also=fact("`true` exited with 0, before the last change of files")),
        Row("the last command is not", [edit("world", "there"), bash("true"), DONE],
            told=["ok", "ok"], saved=True, also=lambda p: not fact("before the last")(p)),
        Row("a check", lambda r: in_turn(r, DONE, edit("world", "there"), NOPE), "no_progress",
            saved=True, told=None, options={"check": "exit 1"},
            also=fact("the check is red, before the last change of files")),
    ],
    "the report: prose does not change `verified`": [
        Row("without a check it is unknown", [says(LIES)], also=facts([], [], None)),
        Row("a red check stays red", lambda r: says(LIES), "check_failed",
            options={"check": "false"}, also=facts([], [], False)),
        Row("a check that only a planted file makes green", [bash("printf '#!/bin/sh\\nexit 0\\n' "
            "> check.sh"), says(LIES)], told=["ok"], options={"check": "sh check.sh"},
            saved=True, also=lambda p: p.outcome.verified is not False),
    ],
}  # fmt: skip
