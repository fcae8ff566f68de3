"""Arguments of a tool call: from whatever a model wrote to a checked JSON object, or why not.

A call is judged by the JSON schema that the model was shown, unknown keys included: pydantic
would drop those silently, and the model would believe that they had an effect.
"""

import difflib
import json
from collections.abc import Iterator, Mapping
from typing import Any

from langchain_core.utils.function_calling import convert_to_openai_tool

from headway_tools.values import is_plain

Schema = Mapping[str, Any]

_TYPES: dict[str, tuple[type, ...]] = {
    "string": (str,),
    "integer": (int,),
    "number": (int, float),
    "boolean": (bool,),
    "array": (list,),
    "object": (dict,),
    "null": (type(None),),
}


class BadArguments(ValueError):
    """The model can mend this: what is wrong with the arguments, in one line."""


def parse_arguments(raw: object) -> dict[str, Any]:
    """The object that `raw` stands for: a JSON string, or a value some server already decoded.

    Nothing at all ("", None, "null") is an empty object. An object inside a JSON string is taken
    out of it. Never repaired: half a call must not run.

    Raises:
        BadArguments: no JSON, no object, or a value that no server can carry.
    """
    value = _decoded(raw)
    if isinstance(value, str):
        value = _decoded(value, of_string=True)
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise BadArguments(f"the arguments are {_kind(value)}, not a JSON object")
    if not is_plain(value):
        raise BadArguments(
            "the arguments hold a NUL character, half of a surrogate pair, NaN or a number "
            "beyond 64 bits, or are nested too deeply"
        )
    return value


def _decoded(raw: object, *, of_string: bool = False) -> object:
    if not isinstance(raw, str):
        return raw
    if not raw.strip():
        return None
    try:
        return json.loads(raw, strict=False)
    except ValueError as error:
        if of_string:
            raise BadArguments("the arguments are a string, not a JSON object") from None
        raise BadArguments(f"the arguments are not valid JSON: {error}") from None
    except RecursionError:
        raise BadArguments("the arguments are nested too deeply") from None


def tool_schema(tool: object) -> Schema:
    """The JSON schema of a tool's arguments: of a BaseTool, a pydantic class, a function, an
    OpenAI tool dict or a JSON schema."""
    if isinstance(tool, Mapping) and "properties" in tool and "function" not in tool:
        return tool
    function = convert_to_openai_tool(tool)["function"]  # type: ignore[arg-type]
    parameters = function.get("parameters")
    return parameters if isinstance(parameters, Mapping) else {}


def check_arguments(args: dict[str, Any], schema: Schema) -> dict[str, Any]:
    """`args` with harmless differences of type mended ("5" for an integer).

    Raises:
        BadArguments: names each unknown key, missing key and wrong type, at most five.
    """
    found: list[str] = []
    checked = _checked(args, schema, schema, "", found)
    if found:
        raise BadArguments("; ".join(found[:5]))
    return dict(checked)


def describe(schema: Schema) -> str:
    """The parameters in one line, for the model: `path (string), limit (integer, optional)`."""
    required = set(schema.get("required") or ())
    names = [
        f"{name} ({_type_name(_resolved(part, schema))}{'' if name in required else ', optional'})"
        for name, part in (schema.get("properties") or {}).items()
    ]
    return ", ".join(names) or "none"


def _checked(value: Any, schema: Any, root: Schema, at: str, found: list[str]) -> Any:
    """`value` coerced to `schema`; what does not fit is added to `found`."""
    schema = _resolved(schema, root)
    options = schema.get("anyOf") or schema.get("oneOf")
    if options:
        return _any_of(value, options, root, at, found)
    value = _coerced(value, schema)
    if not _fits_type(value, schema):
        found.append(f"{at or 'the arguments'} must be {_type_name(schema)}, not {_kind(value)}")
    elif "enum" in schema and value not in schema["enum"]:
        found.append(f"{at} must be one of {json.dumps(schema['enum'])[:200]}")
    elif isinstance(value, dict):
        return _checked_object(value, schema, root, at, found)
    elif isinstance(value, list) and "items" in schema:
        return [
            _checked(item, schema["items"], root, f"{at}[{i}]", found)
            for i, item in enumerate(value)
        ]
    return value


def _any_of(value: Any, options: list[Any], root: Schema, at: str, found: list[str]) -> Any:
    exact = [o for o in options if _fits_type(value, _resolved(o, root))]
    reports: list[list[str]] = []
    for option in [*exact, *(o for o in options if o not in exact)]:
        report: list[str] = []
        checked = _checked(value, option, root, at, report)
        if not report:
            return checked
        reports.append(report)
    if exact:
        found += reports[0]
    else:
        wanted = " or ".join(_type_name(_resolved(option, root)) for option in options)
        found.append(f"{at or 'the arguments'} must be {wanted}, not {_kind(value)}")
    return value


def _checked_object(
    value: dict[str, Any], schema: Schema, root: Schema, at: str, found: list[str]
) -> dict[str, Any]:
    properties: Mapping[str, Any] = schema.get("properties") or {}
    extra = schema.get("additionalProperties", not properties and bool(at))
    checked: dict[str, Any] = {}
    for key, item in value.items():
        name = f"{at}.{key}" if at else key
        if key in properties:
            checked[key] = _checked(item, properties[key], root, name, found)
        elif extra is False:
            found.append(f"unknown parameter {name[:80]}{_nearest(key, properties)}")
        else:
            checked[key] = _checked(item, extra, root, name, found) if extra is not True else item
    for key in schema.get("required") or ():
        if key not in value:
            found.append(f"missing parameter {f'{at}.{key}' if at else key}")
    return checked


def _nearest(key: str, properties: Mapping[str, Any]) -> str:
    close = difflib.get_close_matches(key, list(properties), n=1)
    return f" (did you mean {close[0]}?)" if close else ""


def _resolved(schema: Any, root: Schema) -> Schema:
    for _ in range(8):
        reference = schema.get("$ref") if isinstance(schema, Mapping) else None
        if not isinstance(reference, str):
            break
        schema = root
        for part in reference.removeprefix("#/").split("/"):
            schema = schema.get(part, {}) if isinstance(schema, Mapping) else {}
    return schema if isinstance(schema, Mapping) else {}


def _types(schema: Schema) -> Iterator[str]:
    declared = schema.get("type")
    yield from [declared] if isinstance(declared, str) else declared or ()


def _type_name(schema: Schema) -> str:
    options = schema.get("anyOf") or schema.get("oneOf") or ()
    names = [*_types(schema), *(name for option in options for name in _types(option))]
    return " or ".join(names) or "any value"


def _fits_type(value: Any, schema: Schema) -> bool:
    names = list(_types(schema))
    if not names:
        return True
    return any(
        isinstance(value, _TYPES.get(name, (object,)))
        and (name == "boolean" or not isinstance(value, bool))
        for name in names
    )


def _coerced(value: Any, schema: Schema) -> Any:
    """The number or truth value that a string or a whole float stands for, where one is wanted."""
    if _fits_type(value, schema):
        return value
    names = set(_types(schema))
    if isinstance(value, float) and "integer" in names and value.is_integer():
        return int(value)
    if isinstance(value, str) and names & {"integer", "number", "boolean"}:
        return _read_scalar(value, names)
    return value


def _read_scalar(text: str, names: set[str]) -> Any:
    if "boolean" in names and text.lower() in ("true", "false"):
        return text.lower() == "true"
    for name, kind in (("integer", int), ("number", float)):
        if name in names:
            try:
                number = kind(text)
            except ValueError:
                continue
            return number if is_plain(number) else text
    return text


def _kind(value: object) -> str:
    if isinstance(value, bool):
        return "a boolean"
    kinds: dict[type, str] = {
        str: "a string",
        int: "an integer",
        float: "a number",
        list: "a list",
        dict: "an object",
        type(None): "null",
    }
    return kinds.get(type(value), type(value).__name__)
