"""A reply in the text protocol, read: pure, total, and tolerant of how models really write it.

Labels count in any case, numbered, in bold, quoted or as headings, at the start of a line only.
The first action or answer decides; what stands behind an action cannot know its result.
"""

import json
import re
from collections.abc import Iterator, Sequence
from typing import Final, Literal, NamedTuple

Label = Literal["", "question", "thought", "action", "input", "pause", "observation", "answer"]

ONLY_FIRST: Final = (
    "Only the first action of your reply ran. Write one action, then PAUSE, and wait for its result"
)
INVENTED: Final = "The observation that you wrote yourself was cut off; this one is the real result"
TOO_EARLY: Final = (
    "The final answer that you wrote before this result was not taken; give it again if it holds"
)


class TextCall(NamedTuple):
    name: str
    args: str
    """As written, valid or not."""


class Reading(NamedTuple):
    """What a reply says."""

    text: str
    """The thought before an action, or the answer, or (with neither) what was written."""
    call: TextCall | None = None
    thought: str = ""
    """What stands before a final answer."""
    complete: bool = True
    """It has an action or a final answer."""
    remarks: tuple[str, ...] = ()
    """What was left out, for the model."""


class _Section(NamedTuple):
    label: Label
    start: int
    """Of its label."""
    body: int
    end: int


LONGEST_LABEL: Final = 32
"""Characters within which a line shows whether it begins with a label, decoration apart."""

_LABEL = re.compile(
    r"^[ \t>#*_`]*(?:(?P<label>questions?|thoughts?|action[ _]?inputs?|actions?|observations?|"
    r"final[ _]?answer)[ \t]{0,4}\d{0,2}[ \t*_`]{0,6}[:：][*_`]{0,3}[ \t]*"
    r"|(?P<pause>pause)[ \t.…*_`]*$)",
    re.IGNORECASE | re.MULTILINE,
)
_BY_LETTER: Final[dict[str, Label]] = {
    "q": "question",
    "t": "thought",
    "a": "action",
    "o": "observation",
}
_WORD = re.compile(r"[ \t*_`]*[\w.-]+[ \t*_`]*(?:\n|\Z)")
_INLINE_INPUT = re.compile(r"\baction[ _]?input[ \t*_`]*[:：]", re.IGNORECASE)
_FENCE = re.compile(r"\s*(?:```[\w-]*\s*|`(?=[{\"]))?")
_PAUSE_AT_END = re.compile(r"\s*`*\s*\bPAUSE\W*\Z", re.IGNORECASE)
_NAME = re.compile(r"[\s\"'`*_\[(<]*(?P<name>[A-Za-z_][\w.-]*)[\"'`*\]>]*")
_JSON = json.JSONDecoder(strict=False)


def read_reply(text: str) -> Reading:
    """The action, the answer, or neither, in `text`; never raises."""
    sections = list(_sections(text))
    for at, section in enumerate(sections):
        found: Reading | None = None
        if section.label == "answer":
            found = _answer(text, sections, at)
        elif section.label == "action":
            found = _action(text, sections, at)
        elif section.label in ("observation", "input"):
            break
        if found is not None:
            return found
    written = _before_observation(text, sections).strip()
    return Reading(written or text.strip(), complete=False)


def label_of(line: str) -> Label:
    """The label with which `line` begins."""
    match = _LABEL.match(line)
    return _label(match) if match else ""


def _sections(text: str) -> Iterator[_Section]:
    """The text cut at its labels; labels inside the JSON of an input do not count."""
    match = _LABEL.search(text)
    yield _Section("", 0, 0, match.start() if match else len(text))
    while match:
        label = _label(match)
        beyond = _json_end(text, match.end()) if label == "input" else None
        after = _LABEL.search(text, beyond or match.end())
        yield _Section(label, match.start(), match.end(), after.start() if after else len(text))
        match = after


def _label(match: re.Match[str]) -> Label:
    if match["pause"]:
        return "pause"
    word = match["label"].lower()
    if "input" in word:
        return "input"
    if "answer" in word:
        return "answer"
    return _BY_LETTER[word[0]]


def _json_end(text: str, start: int) -> int | None:
    """Where the JSON object that begins at `start`, fenced or not, ends."""
    fence = _FENCE.match(text, start)
    at = fence.end() if fence else start
    if text[at : at + 1] != "{":
        return None
    try:
        return _JSON.raw_decode(text, at)[1]
    except (ValueError, RecursionError):
        return None


def _thought(text: str, sections: Sequence[_Section]) -> str:
    parts = [text[s.body : s.end].strip() for s in sections if s.label in ("", "thought")]
    return "\n".join(part for part in parts if part)


def _answer(text: str, sections: Sequence[_Section], at: int) -> Reading | None:
    """The answer up to the next label that cannot belong to it; None if it is empty. Advice like
    `Action: restart the server` may belong to it, the name of a tool alone may not."""
    end = len(text)
    for section in sections[at + 1 :]:
        acts = section.label == "action" and _WORD.match(text, section.body)
        if acts or section.label not in ("action", "input"):
            end = section.start
            break
    answer = text[sections[at].body : end].strip()
    return Reading(answer, thought=_thought(text, sections[:at])) if answer else None


def _action(text: str, sections: Sequence[_Section], at: int) -> Reading | None:
    """The action at `at`; None where it names nothing."""
    body = text[sections[at].body : sections[at].end]
    inline = _INLINE_INPUT.search(body)
    following = sections[at + 1] if at + 1 < len(sections) else None
    if inline:
        head, args = body[: inline.start()], body[inline.end() :]
    elif following is not None and following.label == "input":
        head, args = body, text[following.body : following.end]
    else:
        head, args = body, ""
    name = _NAME.match(head)
    if name is None:
        return None
    written = _arguments(args) or _arguments(head[name.end() :].strip().lstrip(":："))
    return Reading(
        _thought(text, sections[:at]),
        call=TextCall(name["name"], written),
        remarks=tuple(_remarks(sections[at + 1 :])),
    )


def _remarks(dropped: Sequence[_Section]) -> Iterator[str]:
    labels = {section.label for section in dropped}
    if "observation" in labels:
        yield INVENTED
    if "action" in labels:
        yield ONLY_FIRST
    if "answer" in labels:
        yield TOO_EARLY


def _arguments(written: str) -> str:
    """The arguments without fences, PAUSE and what is said behind a complete JSON object."""
    fence = _FENCE.match(written)
    start = fence.end() if fence else 0
    end = _json_end(written, 0)
    if end is not None:
        return written[start:end]
    bare = _PAUSE_AT_END.sub("", written[start:]).strip().removesuffix("```").strip()
    if bare.startswith("(") and bare.endswith(")"):
        bare = bare[1:-1].strip()
    return bare


def _before_observation(text: str, sections: Sequence[_Section]) -> str:
    return next((text[: s.start] for s in sections if s.label == "observation"), text)
