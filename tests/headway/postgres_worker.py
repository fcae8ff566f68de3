"""One worker: `postgres_worker.py URL WORKSPACE HOW START|RESUME SLOW`, over a shared data folder.

HOW: `graph` (with a checkpointer) or `run_agent` (by `HEADWAY_POSTGRES`). SLOW says where the run
takes long: `tool`, `model` or `nowhere`. Prints how it ended.
"""

import os
import sys
import time
from pathlib import Path
from typing import Any

from langchain_core.messages import AIMessage, BaseMessage

from headway import build_agent, run_agent
from headway.postgres import postgres_saver
from headway.testing import PolicyModel
from headway_tools import leases
from headway_tools.errors import HeadwayError
from policies import bash

SLOW_SECONDS = 4
QUICK = bash("echo quick >> log", "c1")
SLOW = bash(f"echo before >> log; sleep {SLOW_SECONDS}; echo after >> log", "c2")


def model(slow: str, workspace: Path) -> PolicyModel:
    def policy(messages: list[BaseMessage], tools: list[Any]) -> AIMessage:
        past = sum(isinstance(message, AIMessage) for message in messages)
        if past == 1 and slow == "model":
            (workspace / "asked").touch()
            time.sleep(SLOW_SECONDS)
        if past < 2:
            return AIMessage("", tool_calls=[QUICK if past == 0 or slow == "model" else SLOW])
        return AIMessage(f"done by {slow}")

    return PolicyModel(policy=policy)


def graph(url: str, workspace: Path, verb: str, slow: str) -> str:
    with postgres_saver(url) as saver:
        agent = build_agent(model(slow, workspace), workspace=workspace, checkpointer=saver)
        given: Any = {"messages": [("user", "go")]} if verb == "START" else None
        values = agent.invoke(given, {"configurable": {"thread_id": "shared"}})
    return str(values["outcome"]["status"])


def by_environment(url: str, workspace: Path, verb: str, slow: str) -> str:
    os.environ["HEADWAY_POSTGRES"] = url
    task = "go" if verb == "START" else None
    done = run_agent(task, model=model(slow, workspace), workspace=workspace, thread_id="shared")
    return done.status


def main(url: str, folder: str, how: str, verb: str, slow: str) -> None:
    leases.WORKING, leases.SIGN_SECONDS = 1.5, 0.2
    run = graph if how == "graph" else by_environment
    try:
        ended = run(url, Path(folder), verb, slow)
    except leases.Overtaken:
        ended = "overtaken"
    except HeadwayError as error:
        ended = str(error)
    sys.stdout.write(ended)


main(*sys.argv[1:])
