"""`build_agent`: from arguments to the compiled graph. No model call, no key needed, no thread."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any, cast

from langchain_core.language_models import BaseChatModel
from langchain_core.tools import BaseTool
from langchain_core.tools import tool as make_tool
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.constants import START
from langgraph.graph.state import CompiledStateGraph
from langgraph.store.base import BaseStore
from langgraph.types import Checkpointer
from typing_extensions import Unpack

from headway.agent import assemble
from headway.approvals import check_rules
from headway.context import Context, Settings
from headway.environment import Environments
from headway.intake import Intake, SavedIntake
from headway.limits import Limits
from headway.options import Options, check_model, check_text, checked_options
from headway.parts import Parts
from headway.settled import DURABILITY
from headway.state import InputState, OutputState, State
from headway.truncation import limits_for
from headway_tools.ask_user import ask_user_tool
from headway_tools.bash import bash_tool
from headway_tools.edit import edit_tool
from headway_tools.errors import HeadwayError
from headway_tools.given import check_pattern, check_shown, check_workspace
from headway_tools.home import absolute, default_home
from headway_tools.read_file import read_file_tool
from headway_tools.read_output import read_output_tool
from headway_tools.think import think_tool

Agent = CompiledStateGraph[State, Context, InputState, OutputState]


def build_agent(
    model: BaseChatModel | str | None = None,
    *,
    tools: Sequence[BaseTool | Callable[..., Any]] | None = None,
    checkpointer: Checkpointer = None,
    store: BaseStore | None = None,
    name: str = "headway",
    **options: Unpack[Options],
) -> Agent:
    """The compiled graph, ready to invoke, stream, embed as a node, or serve.

    `model` is any LangChain chat model or `provider:name`; `tools` any LangChain tools or functions
    (default with a workspace: `workspace_tools()`). Raises `HeadwayError` for wrong use. Nothing is
    opened or probed here: that a machine cannot isolate commands shows at the start of a run.
    """
    parts = make_parts(model, tools=tools, name=name, options=options)
    parts.require_allowed()
    return compile_agent(parts, checkpointer=checkpointer, store=store)


def make_parts(
    model: BaseChatModel | str | None,
    *,
    tools: Sequence[BaseTool | Callable[..., Any]] | None,
    name: str,
    options: Options,
) -> Parts:
    """What the nodes are bound to, checked; nothing is opened yet."""
    check_text(name=name)
    check_model(model)
    settings = settings_from(model if isinstance(model, str) else None, options)
    bound = _tools(tools, settings)
    for tool in bound:
        limits_for(tool.name, settings.truncation)
    return Parts(
        settings=settings,
        tools=bound,
        model=None if isinstance(model, str) else model,
        environments=Environments(settings),
        name=name,
    )


def compile_agent(
    parts: Parts, *, checkpointer: Checkpointer = None, store: BaseStore | None = None
) -> Agent:
    """The graph of `parts`. With a checkpointer each step is saved before the next one starts,
    unless the caller or a parent graph says otherwise."""
    compiled = assemble(parts).compile(checkpointer=checkpointer, store=store, name=parts.name)
    saved = isinstance(checkpointer, BaseCheckpointSaver)
    compiled.channels[START] = SavedIntake(InputState) if saved else Intake(InputState)
    config: Any = {"recursion_limit": max(10_000, 5 * parts.settings.limits.model_calls + 20)}
    if saved:
        config["configurable"] = {DURABILITY: "sync"}
    return compiled.with_config(config)


@cache
def workspace_tools(*, interactive: bool = False) -> tuple[BaseTool, ...]:
    """read_file, edit, bash, think, read_output, and where somebody can answer ask_user.

    The same objects each time: working out their schemas is a tenth of the cost of a short run.
    """
    tools = (read_file_tool(), edit_tool(), bash_tool(), think_tool(), read_output_tool())
    return (*tools, ask_user_tool()) if interactive else tools


def settings_from(model: str | None, options: Options) -> Settings:
    """The options as `Settings`: types and paths checked, sequences as tuples."""
    options = checked_options(options)
    given: dict[str, Any] = {
        key: tuple(cast(Sequence[Any], value)) if key in _TUPLES and value is not None else value
        for key, value in options.items()
        if key not in ("unsafe_workspace", "limits", *_PATHS)
    }
    given |= {key: _path(options[key]) for key in _PATHS if key in options}  # type: ignore[literal-required]
    settings = Settings(model=model, limits=options.get("limits") or Limits(), **given)
    if settings.window is not None and settings.window < 1:
        raise HeadwayError(f"window takes a number of tokens above 0, not {settings.window}")
    check_rules(settings.allow)
    return _with_checked_paths(settings, options.get("unsafe_workspace", False))


def _with_checked_paths(settings: Settings, unsafe: bool) -> Settings:
    home, workspace, hide = settings.home or default_home(), settings.workspace, settings.hide
    if workspace is not None:
        workspace = check_workspace(workspace, data_home=home, unsafe=unsafe)
    return replace(
        settings,
        workspace=workspace,
        protect=tuple(check_pattern("protect", p, workspace) for p in settings.protect),
        hide=hide and tuple(check_pattern("hide", p, workspace) for p in hide),
        read_only=tuple(check_shown(Path(p), workspace, home) for p in settings.read_only),
    )


_PATHS = ("workspace", "root", "workspace_root", "home")
_TUPLES = ("models", "protect", "hide", "read_only", "allow")


def _path(value: Path | str | None) -> Path | None:
    return None if value is None else absolute(value)


def _tools(
    given: Sequence[BaseTool | Callable[..., Any]] | None, settings: Settings
) -> tuple[BaseTool, ...]:
    if isinstance(given, str) or not isinstance(given, Sequence | None):
        raise HeadwayError(f"tools takes a list of tools and functions, not {given!r:.80}")
    if given is not None:
        made = tuple(map(_as_tool, given))
    elif settings.workspace is not None or settings.workspace_root is not None:
        made = workspace_tools(interactive=settings.interactive)
    else:
        made = ()
    names = [tool.name for tool in made]
    if twice := {name for name in names if names.count(name) > 1}:
        raise HeadwayError(f"two tools are named {', '.join(sorted(twice))}; rename one")
    return made


def _as_tool(given: object) -> BaseTool:
    if isinstance(given, BaseTool):
        return given
    if not callable(given):
        raise HeadwayError(f"a tool is a LangChain tool or a function, not {given!r:.80}")
    try:
        return make_tool(given)
    except Exception as error:
        name = getattr(given, "__name__", repr(given))
        raise HeadwayError(f"{name} is no tool: {' '.join(str(error).split())}") from error
