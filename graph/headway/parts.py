"""What the nodes of one agent are bound to: settings, tools, model, environments."""

import hashlib
import json
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

from langchain_core.language_models import BaseChatModel
from langchain_core.runnables import Runnable, RunnableConfig
from langchain_core.tools import BaseTool
from langchain_core.utils.function_calling import convert_to_openai_tool
from langgraph.runtime import Runtime, get_runtime

from headway.approvals import Rules, require_tools
from headway.arguments import tool_schema
from headway.context import (
    Context,
    Settings,
    coerce_context,
    effective_ask,
    effective_limits,
    effective_model,
)
from headway.environment import Environments
from headway.limits import Limits
from headway.models.named import open_model
from headway.prefix import Prefix
from headway.protocol import TextProtocol
from headway.recent import Recent
from headway.state import State
from headway.window import Fitted, tool_weight
from headway_tools.env import ToolEnv
from headway_tools.errors import HeadwayError
from headway_tools.given import require_protected
from headway_tools.kinds import Declaration, declaration_of
from headway_tools.sandbox import require_isolation

Update = dict[str, Any]


def digest(text: str) -> str:
    """A short name for `text`."""
    return hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()[:12]


@dataclass(frozen=True)
class Parts:
    """Bound to every node by `headway.agent.assemble`."""

    settings: Settings
    tools: tuple[BaseTool, ...]
    model: BaseChatModel | None
    """A model object given by the builder; else the name in context or settings is opened."""
    environments: Environments
    name: str = "headway"
    prefixes: Recent[str, Prefix] = field(default_factory=lambda: Recent(64))
    """The newest conversation of each of the last runs."""
    fitted: Recent[str, Fitted] = field(default_factory=lambda: Recent(64))
    """The newest request of each of the last runs."""
    shown: Recent[tuple[str, ...], str] = field(default_factory=lambda: Recent(64))
    """Results as the model sees them: progress looks at one before truncate writes it."""
    _opened: dict[str, BaseChatModel] = field(default_factory=dict)
    _without_tools: set[str] = field(default_factory=set)
    """Names of models whose server refused tools."""

    def context(self, runtime: Runtime[Context]) -> Context:
        return coerce_context(runtime.context)

    def limits(self, runtime: Runtime[Context]) -> Limits:
        return effective_limits(self.settings, self.context(runtime))

    @cached_property
    def declared(self) -> dict[str, Any]:
        """What `settle` judges calls by: the arguments' schema of each tool, where it has one."""
        return {
            tool.name: schema if "properties" in (schema := tool_schema(tool)) else tool
            for tool in self.tools
        }

    @cached_property
    def tool_weight(self) -> float:
        """Tokens of the declared tools, before calibration."""
        return tool_weight(self.tools)

    @cached_property
    def tool_digest(self) -> str:
        """Names the declarations of the tools."""
        return digest(json.dumps([convert_to_openai_tool(tool) for tool in self.tools]))

    def tool(self, name: str) -> BaseTool | None:
        return self._by_name.get(name)

    def declaration(self, name: str) -> Declaration:
        return self._declarations.get(name) or Declaration()

    @cached_property
    def _by_name(self) -> dict[str, BaseTool]:
        return {tool.name: tool for tool in self.tools}

    @cached_property
    def _declarations(self) -> dict[str, Declaration]:
        return {tool.name: declaration_of(tool) for tool in self.tools}

    def require_isolation(self) -> None:
        """`HeadwayError` with the fix where commands would run but cannot be isolated here."""
        commands = self.settings.check is not None or self.tool("bash") is not None
        if commands and self.settings.sandbox == "bubblewrap":
            require_isolation()

    def require_protected(self) -> None:
        """`HeadwayError` for a plain name to protect that the workspace does not have."""
        if self.settings.workspace is not None:
            require_protected(self.settings.workspace, self.settings.protect)

    def require_allowed(self) -> None:
        """`HeadwayError` for a rule of `allow` about a tool that this agent does not have."""
        require_tools(self.settings.allow, [tool.name for tool in self.tools])

    def env(self, state: State, runtime: Runtime[Context]) -> ToolEnv:
        """The environment of this state's branch; without a thread, one of this run alone."""
        info = runtime.execution_info
        thread_id = info.thread_id if info else None
        run_id = state.get("hw_run", {}).get("id", "")
        return self.environments.get(thread_id, state.get("hw_branch", ""), run_id)

    def rules(self, state: State, runtime: Runtime[Context]) -> Rules:
        """Who is asked about which calls; paths are those of this state's branch."""
        given = self.settings
        rules = Rules(effective_ask(given, self.context(runtime)), given.allow, given.interactive)
        workspace = self.env(state, runtime).workspace
        if workspace is None:
            return rules
        return replace(rules, place=workspace.really, is_path=workspace.has)

    def chat(self, context: Context) -> tuple[BaseChatModel, str]:
        """The model to call, in the protocol that it speaks, and its name."""
        model, name = self._model(context)
        protocol = self.settings.protocol
        by_text = protocol == "text" or (protocol == "auto" and name in self._without_tools)
        return (TextProtocol(model) if by_text else model), name

    def fall_back(self, name: str) -> bool:
        """From now on the model `name` gets the text protocol; False where that cannot be."""
        if self.settings.protocol != "auto" or name in self._without_tools:
            return False
        self._without_tools.add(name)
        return True

    def _model(self, context: Context) -> tuple[BaseChatModel, str]:
        name = effective_model(self.settings, context)
        if self.model is not None and context.model is None:
            return self.model, name or _name_of(self.model)
        if name is None:
            raise HeadwayError(
                "no model: pass --model openai:NAME (or HEADWAY_MODEL), set OPENAI_API_KEY, "
                "or try `headway demo`"
            )
        if name not in self._opened:
            settings = self.settings
            self._opened[name] = open_model(
                name,
                base_url=settings.base_url,
                api_key=settings.api_key,
                model_args=settings.model_args,
            )
        return self._opened[name], name


def _name_of(model: BaseChatModel) -> str:
    for attribute in ("model_name", "model"):
        value = getattr(model, attribute, None)
        if isinstance(value, str):
            return value
    return model._llm_type


class Twin(Runnable[State, Update]):
    """One node with a synchronous and an asynchronous body, both `(state, runtime) → update`."""

    def __init__(
        self,
        body: Callable[[State, Runtime[Context]], Update],
        abody: Callable[[State, Runtime[Context]], Awaitable[Update]],
    ) -> None:
        self._body, self._abody = body, abody

    def invoke(self, input: State, config: RunnableConfig | None = None, **kwargs: Any) -> Update:
        return self._body(input, get_runtime(Context))

    async def ainvoke(
        self, input: State, config: RunnableConfig | None = None, **kwargs: Any
    ) -> Update:
        return await self._abody(input, get_runtime(Context))
