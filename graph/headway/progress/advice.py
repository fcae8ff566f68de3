"""What the model is told: the evidence quoted, and a way out that fits the case."""

import json
from typing import Any

from headway.progress.signals import Signal

_CALL = 160
_OBSERVATION = 240

_WAY_OUT = {
    "repeat": "The result above will not change by asking again. Use what it says: do the next step"
    " that it makes possible, change something first, or say what blocks you and finish.",
    "cycle": "These calls only lead back to each other. Everything they can show is already above:"
    " decide on it now, change something first, or say what blocks you and finish.",
    "same_error": "The cause is not in the call that you alter each time. Read the error itself,"
    " check what it names (file, table, service, permission) by one look, or report it and finish.",
    "same_result": "The answer is the same however it is asked. Take it as the answer, look at a"
    " different source, or say that it is not to be found and finish.",
    "poll": "It is not getting on. Wait once for longer with a bound, look at its log, or report"
    " that it is still running and finish.",
    "outage": "The service is out. Go on with what does not need it, wait once for longer, or"
    " report the outage and finish.",
    "storm": "None of these calls could run. Use only the tools that are offered and the argument"
    " names of their schema, or answer without a tool.",
    "monologue": "Text alone changes nothing. Make the next call now, or give the final answer"
    " with what is established.",
    "duplicates": "One of these calls is enough: its result is above. Use it.",
    "counter": "These changes do not touch the cause. Go back to the best state, read the first"
    " failure in full, and test one assumption about it; or report what is left and finish.",
}


def evidence(signal: Signal, score: float, history: list[float]) -> dict[str, Any]:
    """Plain data: which rule, which call how often, what it brought, the counter's history."""
    found: dict[str, Any] = {"rule": signal.rule, "times": signal.times, "score": round(score, 2)}
    if signal.seen is not None:
        fact = signal.seen.fact
        found["call"] = {"name": fact.name, "args": _short(_spell(fact.args), _CALL)}
        found["observation"] = _short(signal.seen.opened.text.strip(), _OBSERVATION)
    if history:
        found["counter"] = list(history)
    return found


def advice(found: dict[str, Any]) -> str:
    """The words for the model."""
    rule = str(found["rule"])
    return f"No progress: {_claim(found)}\n{_WAY_OUT.get(rule, _WAY_OUT['repeat'])}"


def _claim(found: dict[str, Any]) -> str:
    times, call = found["times"], found.get("call", {})
    name = f"{call.get('name', '')}({call.get('args', '')})"
    quoted = f"`{found.get('observation', '') or '(empty)'}`"
    match found["rule"]:
        case "monologue":
            return f"{times} replies in a row without a call."
        case "storm":
            return f"{times} rounds in a row in which no call could run; the last, {name}: {quoted}"
        case "counter":
            values = ", ".join(f"{value:g}" for value in found.get("counter", []))
            last = f"; last result: {quoted}" if "observation" in found else ""
            return f"the count to bring down did not fall ({values}){last}"
        case "same_error":
            return f"the same error {times} times, from different calls; the last, {name}: {quoted}"
        case "same_result":
            return f"{name} brought what another call had brought: {quoted}"
        case "duplicates":
            return f"{times} equal calls in one message: {name}: {quoted}"
        case _:
            return f"{name} brought the same result {times} times: {quoted}"


def _spell(args: dict[str, Any]) -> str:
    return json.dumps(args, ensure_ascii=False, default=str)[1:-1]


def _short(text: str, limit: int) -> str:
    return text if len(text) <= limit else f"{text[: limit // 2]} … {text[-limit // 2 :]}"
