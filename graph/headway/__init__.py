"""headway: a ReAct agent as an explicit LangGraph graph that can be rewound, files included."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from headway.build import build_agent, workspace_tools
    from headway.context import Context
    from headway.limits import Limits
    from headway.outcome import Outcome
    from headway.progress import ProgressSettings
    from headway.run import arun_agent, astream_agent, run_agent, stream_agent
    from headway.status import Status
    from headway.trace import StepTrace
    from headway_tools.errors import HeadwayError
    from headway_tools.kinds import declare

__all__ = [
    "Context",
    "HeadwayError",
    "Limits",
    "Outcome",
    "ProgressSettings",
    "Status",
    "StepTrace",
    "arun_agent",
    "astream_agent",
    "build_agent",
    "declare",
    "run_agent",
    "stream_agent",
    "workspace_tools",
]

_HOME = {
    "Context": "headway.context",
    "HeadwayError": "headway_tools.errors",
    "Limits": "headway.limits",
    "Outcome": "headway.outcome",
    "ProgressSettings": "headway.progress",
    "Status": "headway.status",
    "StepTrace": "headway.trace",
    "arun_agent": "headway.run",
    "astream_agent": "headway.run",
    "build_agent": "headway.build",
    "declare": "headway_tools.kinds",
    "run_agent": "headway.run",
    "stream_agent": "headway.run",
    "workspace_tools": "headway.build",
}


def __getattr__(name: str) -> Any:
    """Names are loaded at first use: `import headway` alone costs nothing."""
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(_HOME[name]), name)
