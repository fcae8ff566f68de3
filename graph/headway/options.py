"""The operator's options by keyword; a value of a wrong type is refused in one line."""

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, Final, Literal

from langchain_core.runnables import Runnable
from pydantic import (
    BaseModel,
    ConfigDict,
    SkipValidation,
    TypeAdapter,
    ValidationError,
    with_config,
)
from typing_extensions import TypedDict

from headway.approvals import Ask
from headway.context import Protocol
from headway.limits import Limits
from headway.models.retry import RetryPolicy
from headway.prices import Price
from headway.progress import ProgressSettings
from headway.truncation import Truncation
from headway_tools.errors import HeadwayError
from headway_tools.sandbox import SandboxKind
from headway_tools.storage import Storage

_SHOULD: Final = "Input should be "
"""How pydantic begins what is wrong with most values."""
_SECRET: Final = ("api_key", "model_args")
"""Options whose values no message shows."""


@with_config(ConfigDict(arbitrary_types_allowed=True, extra="forbid"))
class Options(TypedDict, total=False):
    """The operator's options of `build_agent` and `run_agent`; see `headway.context.Settings`."""

    models: Sequence[str]
    base_url: str | None
    api_key: str | None
    model_args: Mapping[str, Any]
    protocol: Protocol
    limits: Limits | None
    price: Price | None
    workspace: Path | str | None
    root: Path | None
    workspace_root: Path | str | None
    unsafe_workspace: bool
    sandbox: SandboxKind
    network: bool
    protect: Sequence[str]
    hide: Sequence[str] | None
    read_only: Sequence[Path | str]
    check: str | None
    verify: Callable[..., Any] | None
    response_format: type[BaseModel] | None
    system_prompt: str | None
    instructions: str
    thoughts: bool
    ask: Ask
    allow: Sequence[str]
    interactive: bool
    on_stop: Literal["return", "ask"]
    progress: ProgressSettings
    truncation: SkipValidation[Truncation]
    """`limits_for` checks it, tool by tool."""
    window: int | None
    retries: RetryPolicy
    home: Path | str | None
    storage: Storage | None
    memory: bool


@cache
def _options() -> TypeAdapter[Options]:
    return TypeAdapter(Options)


def checked_options(options: Options) -> Options:
    """The options as their types say; a mapping will do for settings of headway's own."""
    try:
        return _options().validate_python(options)
    except ValidationError as error:
        raise HeadwayError(_wrong(error)) from error


def _wrong(error: ValidationError) -> str:
    """What is wrong with the first wrong value; one that may be of several types has an error for
    each."""
    first, *more = error.errors(include_url=False)
    option = first["loc"][0]
    others = [e for e in more if e["loc"][0] == option and e["input"] is first["input"]]
    where = ".".join(map(str, first["loc"][:1] if others else first["loc"]))
    if first["type"] == "extra_forbidden":
        return f"there is no option {where!r}"
    said = dict.fromkeys(e["msg"].removeprefix(_SHOULD) for e in (first, *others))
    verb = "should be" if first["msg"].startswith(_SHOULD) else "is wrong:"
    value = "" if option in _SECRET else f", not {first['input']!r:.80}"
    return f"{where} {verb} {', or '.join(said)}{value}"


def check_model(model: object) -> None:
    """`HeadwayError` for what is neither a chat model nor the name of one."""
    if model is None or isinstance(model, str):
        return
    if not isinstance(model, Runnable) or not hasattr(model, "bind_tools"):
        raise HeadwayError(f"model takes a chat model or 'provider:name', not {model!r:.80}")


def check_text(**given: object) -> None:
    """`HeadwayError` for an argument that is given, and no text."""
    for name, value in given.items():
        if value is not None and not isinstance(value, str):
            raise HeadwayError(f"{name} should be a text, not {value!r:.80}")
