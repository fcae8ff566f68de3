"""agent: one model call; whatever comes back becomes a valid AIMessage, or the reason to stop.

The one node whose content changes when a deterministic policy is swapped for a real model.
"""

import time
import uuid
from collections.abc import Callable
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field, replace
from typing import Any, Final

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage
from langgraph.runtime import Runtime

from headway.approvals import Rules, must_ask
from headway.context import Context
from headway.costs import add_attempts, add_reply
from headway.limits import Limits
from headway.models.call import acall_model, call_model
from headway.models.failure import ModelFailure
from headway.notes import FIELD, meta
from headway.parts import Parts, Update
from headway.prices import cost_of, unknown
from headway.reply import settle
from headway.request import Request, build, sent
from headway.spending import reached, seconds_in_all
from headway.state import MIN_REMAINING, MIN_TO_JUDGE, Run, State, Stop
from headway.window import written_tokens
from headway_tools.values import clean_text, sendable

HANDOFF: Final = "__handoff_destination"
"""Metadata key by which langgraph-swarm and -supervisor mark their hand-off tools."""


MOST_OF_A_FAILURE: Final = 300
"""Characters of a server's message that a note about another try quotes."""


@dataclass(frozen=True)
class Plan:
    """One model call, decided but not yet sent."""

    state: State
    parts: Parts
    context: Context
    limits: Limits
    model: BaseChatModel
    model_name: str
    request: Request
    rules: Rules
    started: float
    notify: Callable[[dict[str, Any]], None]
    shrunk: bool = False
    lost: list[bool] = field(default_factory=list)
    """One entry for each attempt that brought no reply: whether it may be on the bill."""

    @property
    def run(self) -> Run:
        """The counters so far, with what attempts without a reply have cost."""
        return add_attempts(
            self.state.get("hw_run", {}),
            sum(self.lost),
            model=self.model_name,
            tokens=self.request.tokens,
            price=self.parts.settings.price,
        )

    def tell(self, event: dict[str, Any]) -> None:
        """Count a failed attempt and show it."""
        self.lost.append(event["billed"])
        why = self.parts.environments.mask(str(event["message"]))[:MOST_OF_A_FAILURE]
        text = f"try {event['attempt']} failed ({why}); the next one in {event['wait']:g} s"
        self.notify({**event, "type": "note", "about": "retry", "text": text, "message": why})

    def masked(self, failure: ModelFailure) -> ModelFailure:
        """A server may quote the key that it refuses."""
        failure.message = self.parts.environments.mask(failure.message)
        return failure

    def arguments(self) -> dict[str, Any]:
        return {
            "tools": self.request.tools,
            "timeout": self.limits.model_timeout,
            "within": seconds_in_all(self.run, self.limits),
            "retries": self.parts.settings.retries,
            "notify": self.tell,
        }


def agent(state: State, runtime: Runtime[Context], *, parts: Parts) -> Update:
    """Ask the model for the next step."""
    plan = prepare(state, runtime, parts)
    while isinstance(plan, Plan):
        try:
            reply = call_model(plan.model, plan.request.messages, **plan.arguments())
        except ModelFailure as failure:
            plan = failed(plan, plan.masked(failure))
        else:
            return received(plan, reply)
    return plan


async def aagent(state: State, runtime: Runtime[Context], *, parts: Parts) -> Update:
    """`agent`, asynchronously."""
    plan = prepare(state, runtime, parts)
    while isinstance(plan, Plan):
        try:
            reply = await acall_model(plan.model, plan.request.messages, **plan.arguments())
        except ModelFailure as failure:
            plan = failed(plan, plan.masked(failure))
        else:
            return received(plan, reply)
    return plan


def prepare(state: State, runtime: Runtime[Context], parts: Parts) -> Plan | Update:
    """The call to make, or the update that stops the run because a limit is reached."""
    context = parts.context(runtime)
    limits = parts.limits(runtime)
    model, name = parts.chat(context)
    request = build(state, parts=parts, context=context, model=model)
    run = state.get("hw_run", {})
    cost = cost_of(name, request.tokens, 0, price=parts.settings.price)
    limit = run.get("closing") or reached(run, limits, request.tokens, cost)
    if limit:
        return _stop(run, Stop(status="limit", limit=limit))
    if request.window.get("step", 0) > state.get("hw_window", {}).get("step", 0):
        runtime.stream_writer(_shortened(request))
    return Plan(
        state=state,
        parts=parts,
        context=context,
        limits=limits,
        model=model,
        model_name=name,
        request=request,
        rules=parts.rules(state, runtime),
        started=time.monotonic(),
        notify=runtime.stream_writer,
    )


def failed(plan: Plan, failure: ModelFailure) -> Plan | Update:
    """After a failure for good: shrink the request once where it was too long, go over to the
    text protocol where the server takes no tools, else stop."""
    if failure.kind == "context_length" and not plan.shrunk and (shorter := _shorter(plan)):
        plan.notify(_shortened(shorter, because=f"{failure.message}: "))
        return replace(plan, request=shorter, shrunk=True)
    if failure.kind == "no_tools" and plan.parts.fall_back(plan.model_name):
        text = f"{plan.model_name} takes no tools ({failure.message}): text protocol from now on"
        plan.notify({"type": "note", "about": "protocol", "text": text})
        return replace(plan, model=plan.parts.chat(plan.context)[0])
    plan.lost.append(failure.billed)
    run: Run = {**plan.run, "seconds": _seconds(plan)}
    limit = plan.limits.seconds
    if failure.kind == "timeout" and limit is not None and run["seconds"] >= limit:
        return _stop(run, Stop(status="limit", limit="seconds"))
    evidence = {
        "kind": failure.kind,
        "message": failure.message,
        "status_code": failure.status_code,
        "attempts": failure.attempts,
        "retry_after": failure.retry_after,
        "billed": failure.billed,
    }
    stop = _stop(run, Stop(status="model_error", evidence=evidence))
    return {**stop, "hw_window": plan.request.window}


def received(plan: Plan, reply: AIMessage) -> Update:
    """The update for a reply: settled, counted, and with the calls that a person must decide."""
    known = plan.request.prefix
    message = _alone(settle(reply, tools=plan.parts.declared, known_ids=known.call_ids), plan.parts)
    facts = sent(plan.request, parts=plan.parts, model=plan.model, name=plan.model_name)
    message = message.model_copy(
        update={
            "name": clean_text(message.name or plan.parts.name),
            "id": _new_id(message, known.message_ids),
            "response_metadata": {
                **message.response_metadata,
                FIELD: {**meta(message), "sent": facts},
            },
        }
    )
    estimate = (plan.request.tokens, written_tokens(message))
    notes = meta(message)
    price = plan.parts.settings.price
    run = add_reply(_warned(plan), message, model=plan.model_name, estimate=estimate, price=price)
    run |= {
        "seconds": _seconds(plan),
        "closing": plan.request.closing,
        "reply": {
            "id": message.id or "",
            "problem": notes.get("problem"),
            "finish": notes.get("finish"),
        },
        "ask": _asks(plan, message),
    }
    if message.tool_calls and plan.request.closing:
        run["stop"] = Stop(status="limit", limit=plan.request.closing)
    elif _out_of_steps(plan, message):
        run["stop"] = Stop(status="limit", limit="steps")
    empty = not message.tool_calls and not message.text.strip()
    return {
        "messages": [] if empty else [message],
        "hw_run": run,
        "hw_window": plan.request.window,
    }


def _out_of_steps(plan: Plan, message: AIMessage) -> bool:
    """Whether the outer graph leaves too few steps for a round, or for a verify that may end in
    finish."""
    remaining, settings = plan.state["hw_remaining"], plan.parts.settings
    if message.tool_calls:
        return remaining < MIN_REMAINING
    judged = settings.check or settings.verify or settings.response_format
    return remaining < MIN_TO_JUDGE and bool(judged or meta(message).get("problem"))


def _warned(plan: Plan) -> Run:
    """The counters, with the warning that a limit of cost cannot hold, said once."""
    run, name = plan.run, plan.model_name
    if plan.limits.cost is None or cost_of(name, 1, 1, price=plan.parts.settings.price) is not None:
        return run
    text, known = unknown(name), run.get("warnings", [])
    if text in known:
        return run
    plan.notify({"type": "note", "about": "cost", "text": text})
    return {**run, "warnings": [*known, text]}


def _asks(plan: Plan, message: AIMessage) -> list[str]:
    bad = meta(message).get("call_errors", {})
    return [
        call["id"] or ""
        for call in message.tool_calls
        if call["id"] not in bad
        and must_ask(
            call["name"], call["args"], plan.parts.declaration(call["name"]).kind, plan.rules
        )
    ]


def _new_id(message: AIMessage, known: AbstractSet[str]) -> str:
    """The reply's id, or a new one where it cannot be sent, or the model used it before (models
    that play a list of messages do): the reducer would put the reply in the earlier one's place."""
    if message.id and sendable(message.id) and message.id not in known:
        return message.id
    return str(uuid.uuid4())


def _alone(message: AIMessage, parts: Parts) -> AIMessage:
    """A hand-off discards the results of its siblings, so it is kept as the only call."""
    for call in message.tool_calls:
        tool = parts.tool(call["name"])
        bad = meta(message).get("call_errors", {})
        if tool is not None and HANDOFF in (tool.metadata or {}) and call["id"] not in bad:
            return message.model_copy(update={"tool_calls": [call]})
    return message


def _shorter(plan: Plan) -> Request | None:
    """The refused request with more of it shortened; None where nothing more can be."""
    refused = plan.request
    state: State = {**plan.state, "hw_window": refused.window}
    request = build(state, parts=plan.parts, context=plan.context, model=plan.model, shrink=True)
    return request if request.messages != refused.messages else None


def _shortened(request: Request, because: str = "") -> dict[str, Any]:
    text = (
        f"{because}requests hold older steps shortened from here on (about {request.tokens} "
        "tokens); the thread keeps them"
    )
    return {"type": "note", "about": "context", "text": text}


def _seconds(plan: Plan) -> float:
    return plan.run.get("seconds", 0.0) + time.monotonic() - plan.started


def _stop(run: Run, stop: Stop) -> Update:
    return {"hw_run": {**run, "stop": stop}}
