"""A structured answer: from what a model wrote to data of a schema (pure)."""

import json
import re
from collections.abc import Iterator
from typing import Any, Final

from pydantic import BaseModel, ValidationError

_FENCE: Final = re.compile(r"```[ \t]*(?:json[c5]?)?[ \t]*\n(.*?)\n?[ \t]*```", re.DOTALL | re.I)
_MOST_TRIED: Final = 200
"""Places in prose where JSON may begin."""


def read_form(answer: str, schema: type[BaseModel]) -> BaseModel | str:
    """The answer as `schema`, or what is wrong with it, for the model.

    Tried in order: the whole text, its fenced blocks, JSON objects and lists inside prose. The
    last two count only where exactly one different value fits. A list is a `RootModel`.
    """
    try:
        return schema.model_validate_json(answer)
    except ValidationError as error:
        first = error
    for pieces in (_FENCE.findall(answer), list(_embedded(answer))):
        fitting = _fitting(pieces, schema)
        if len(fitting) > 1:
            return _wrong(f"{len(fitting)} different values fit, give one", schema)
        if fitting:
            return fitting[0]
        if len(pieces) == 1:
            first = _error(pieces[0], schema) or first
    return _wrong("; ".join(map(_problem, first.errors()[:5])), schema)


def _fitting(pieces: list[str], schema: type[BaseModel]) -> list[BaseModel]:
    found: list[BaseModel] = []
    for piece in pieces:
        try:
            value = schema.model_validate_json(piece)
        except ValidationError:
            continue
        if value not in found:
            found.append(value)
    return found


def _embedded(text: str) -> Iterator[str]:
    """The outermost JSON objects and lists in `text`."""
    decoder = json.JSONDecoder()
    at = 0
    for _ in range(_MOST_TRIED):
        begin = re.compile(r"[{\[]").search(text, at)
        if begin is None:
            return
        try:
            _, at = decoder.raw_decode(text, begin.start())
            yield text[begin.start() : at]
        except (ValueError, RecursionError):
            at = begin.end()


def _error(text: str, schema: type[BaseModel]) -> ValidationError | None:
    try:
        schema.model_validate_json(text)
    except ValidationError as error:
        return error
    return None


def _problem(error: Any) -> str:
    return f"{'.'.join(map(str, error['loc'])) or 'answer'}: {error['msg']}"


def _wrong(problems: str, schema: type[BaseModel]) -> str:
    return (
        f"The final answer must be JSON of this schema, nothing else: {problems}. "
        f"Schema: {json.dumps(schema.model_json_schema(), ensure_ascii=False)}"
    )
