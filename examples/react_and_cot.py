"""ReAct and chain of thought with self-consistency, switching both ways (arXiv 2210.03629, 3.2).

ReAct → CoT-SC: where ReAct ends without an answer, the majority of sampled thoughts decides.
CoT-SC → ReAct: where no answer has half of the samples, the facts are looked up instead.
"""

from collections import Counter

from langchain_core.messages import AIMessage
from models import call, decides, says

from headway import Limits, run_agent

SAMPLES = 5
LIMITS = Limits(model_calls=6)


def lookup(name: str) -> str:
    """A fact by its name."""
    return {"capital of Australia": "Canberra"}.get(name, "nothing found")


def react(question: str) -> str | None:
    """The answer of a headway with the lookup preset's kind of limits, or None."""
    result = run_agent(question, model=decides(acting), tools=[lookup], limits=LIMITS)
    return result.answer if result.status == "completed" else None


def acting(request: str, past: int) -> str | AIMessage:
    known = "Australia" in request
    if past == 0 or not known:
        return call("lookup", name="capital of Australia" if known else request)
    return "Canberra"


def thoughts(question: str) -> tuple[str, int]:
    """The most frequent of several sampled answers, and how often it came."""
    sampled = ["Canberra", "Sydney", "Perth"] if "Australia" in question else ["7", "7", "7"]
    models = [says(sampled[i % len(sampled)]) for i in range(SAMPLES)]
    answers = [run_agent(question, model=model, tools=[]).answer for model in models]
    return Counter(answers).most_common(1)[0]


def react_then_thoughts(question: str) -> str:
    return react(question) or f"{thoughts(question)[0]} (by majority)"


def thoughts_then_react(question: str) -> str:
    answer, votes = thoughts(question)
    return answer if votes >= SAMPLES / 2 else f"{react(question)} (looked up)"


def main() -> None:
    print(react_then_thoughts("How many days are in a week?"))
    print(thoughts_then_react("What is the capital of Australia?"))


if __name__ == "__main__":
    main()
