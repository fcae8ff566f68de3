"""Calls and promises in the text of a reply: taken, quoted, broken, or none."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.messages import AIMessage
from wire_support import bash, read_file

from headway.arguments import BadArguments, parse_arguments
from headway.printed import find_printed
from headway.promise import is_promise
from headway.reply import settle

TOOLS = {"bash": bash, "read_file": read_file}


def settled(message: AIMessage, **options: Any) -> AIMessage:
    return settle(message, tools=TOOLS, known_ids=set(), **options)


def notes(message: AIMessage) -> dict[str, Any]:
    return dict(message.response_metadata["headway"])


CALL = '{"name": "bash", "arguments": {"command": "ls"}}'
PRINTED = [
    f"<tool_call>\n{CALL}\n</tool_call>",
    f"I will look.\n<tool_call>{CALL}</tool_call>",
    f"The file has 3 lines.\n<tool_call>{CALL}</tool_call>",
    f"<tool_call>{CALL}",
    f"<tools>\n{CALL}\n</tools>",
    f"```\n<tool_call>{CALL}</tool_call>\n```",
    f"```json\n{CALL}\n```",
    f"Let me check the folder first:\n```json\n{CALL}\n```",
    f"I'll run it now.\n{CALL}",
    CALL,
    f"[{CALL}]",
    '{"name": "bash", "arguments": "{\\"command\\": \\"ls\\"}"}',
    '{"tool": "bash", "args": {"command": "ls"}}',
    '{"function": {"name": "bash", "arguments": {"command": "ls"}}}',
    '<function=bash>{"command": "ls"}</function>',
    "<tool_call>\n<function=bash>\n<parameter=command>\nls\n</parameter>\n</function>\n</tool_call>",
    '<function_calls>\n<invoke name="bash">\n<parameter name="command">ls</parameter>\n</invoke>\n'
    "</function_calls>",
    f"[TOOL_CALLS][{CALL}]",
    '[bash(command="ls")]',
    '<|python_tag|>[bash(command="ls")]',
    '[TOOL_CALLS] bash[ARGS]{"command": "ls"}',
    '<|python_tag|>{"name": "bash", "parameters": {"command": "ls"}}<|eom_id|>',
    "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>bash\n```json\n"
    '{"command": "ls"}\n```<｜tool▁call▁end｜><｜tool▁calls▁end｜>',
    '<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>bash<｜tool▁sep｜>{"command": "ls"}'
    "<｜tool▁call▁end｜><｜tool▁calls▁end｜>",
    "<|tool_calls_section_begin|><|tool_call_begin|>functions.bash:0"
    '<|tool_call_argument_begin|>{"command": "ls"}<|tool_call_end|><|tool_calls_section_end|>',
    '<|channel|>commentary to=functions.bash <|constrain|>json<|message|>{"command": "ls"}<|call|>',
]


@pytest.mark.parametrize("text", PRINTED)
def test_a_call_printed_in_a_known_envelope_is_a_call(text: str) -> None:
    message = settled(AIMessage(text))
    assert [(c["name"], c["args"]) for c in message.tool_calls] == [("bash", {"command": "ls"})]
    assert "ls" not in str(message.content)
    assert notes(message)["problem"] is None


def test_two_printed_calls_are_two_calls() -> None:
    other = '{"name": "read_file", "arguments": {"path": "a"}}'
    text = f"<tool_call>{CALL}</tool_call>\n<tool_call>{other}</tool_call>"
    assert [c["name"] for c in settled(AIMessage(text)).tool_calls] == ["bash", "read_file"]


QUOTED = [
    f"A call in Hermes format looks like this:\n<tool_call>{CALL}</tool_call>",
    f"The log shows <tool_call>{CALL}</tool_call> which never ran. Fix the parser.",
    f"The model wrote:\n```json\n{CALL}\n```",
    f"The parser looks for `<tool_call>` and then {CALL} behind it.",
    "The `<tool_call>` tag is missing.",
    "Use the <tool_call> tag around the JSON.",
    '{"name": "Alice", "arguments": [1, 2]}',
    '{"result": 3}',
    "[bash(ls)]",
    "[bash(command=open('x'))]",
    "[link(x=1)] is a link.",
    'Here is package.json:\n```json\n{"name": "app", "version": "1"}\n```',
]


@pytest.mark.parametrize("text", QUOTED)
def test_an_answer_that_quotes_a_call_is_an_answer(text: str) -> None:
    message = settled(AIMessage(text))
    assert (message.tool_calls, message.content) == ([], text)
    assert notes(message)["problem"] is None


@pytest.mark.parametrize(
    "text",
    [
        '<tool_call>{"name": "bash", "arguments": {"command": "l',
        '<tool_call>{"name": "no_tool", "arguments": {}}</tool_call>',
        '{"name": "bash", "arguments": {"comm',
        "<tool_call>\nbash ls\n</tool_call>",
        "<function=bash>ls</function>",
        f"The answer is 3.\n```json\n{CALL}\n```",
    ],
)
def test_a_call_that_cannot_be_read_safely_is_named(text: str) -> None:
    message = settled(AIMessage(text))
    assert (message.tool_calls, notes(message)["problem"]) == ([], "printed_call")


def test_a_printed_call_with_bad_arguments_is_an_error_of_that_call() -> None:
    message = settled(AIMessage('{"name": "bash", "arguments": {"cmd": "ls"}}'))
    (error,) = notes(message)["call_errors"].values()
    assert error["code"] == "invalid_arguments"


@pytest.mark.parametrize(
    "text",
    [
        "I'll now run the tests.",
        "I’ll now run the tests.",
        "Next I will run the tests.",
        "Let me check the file:",
        "The file is broken. I'll fix it now.",
        "Now I'm going to edit x.py",
        "First, I need to look at main.py.",
        "Now running the tests...",
        "Two tests fail.\n\n**Next, I will fix the parser.**",
        "Ich schaue mir jetzt die Datei an.",
        "Jetzt führe ich die Tests aus.",
        "Je vais maintenant lancer les tests.",
        "Ahora voy a ejecutar las pruebas.",
        "Agora vou executar os testes.",
        "Сейчас я запущу тесты.",
        "好的。接下来我将修改文件。",
        "让我看看这个文件：",
        "次にテストを実行します。",
    ],
)
def test_a_promise_is_one(text: str) -> None:
    assert is_promise(text)
    assert notes(settled(AIMessage(text)))["problem"] == "promise"


@pytest.mark.parametrize(
    "text",
    [
        "You can now run the tests.",
        "Done. Let me know if you want me to run more.",
        "I'll be happy to help.",
        "Should I run the tests?",
        "If you like, I'll run the tests.",
        "The function will run the tests next.",
        "I will not run it.",
        "I fixed the bug; you can now run `pytest`.",
        'The tests print "I\'ll run the check".',
        "I've now run the tests and they pass.",
        "I'll now run the tests.\n\nAll 12 tests pass.",
        "42",
        "",
        "Sie können jetzt die Tests ausführen.",
        "Ich habe jetzt die Datei geändert.",
        "Jetzt bin ich fertig.",
        "Je vais bien.",
        "Si vous voulez, je vais lancer les tests.",
        "Ahora puede ejecutar las pruebas.",
        "Agora você pode executar os testes.",
        "Теперь я закончил.",
        "现在你可以运行测试了。",
        "我先前已经改好了。",
        "テストを実行できます。",
    ],
)
def test_an_answer_is_no_promise(text: str) -> None:
    assert not is_promise(text)


@given(st.text(alphabet='<>{}[]"`:=/|_ \nabcinotl_TOOLCALS', max_size=60))
def test_any_text_is_searched_without_an_exception(text: str) -> None:
    found = find_printed(text, TOOLS.keys())
    assert found.thought in (text, found.thought)
    assert not (found.calls and found.looks_like_call)


@pytest.mark.parametrize(
    "piece", ["<function=bash>", '<invoke name="a">', "<tool_call>", "```json\n{\n", "<think>"]
)
def test_a_tag_that_a_looping_model_repeats_is_no_call(piece: str) -> None:
    """Thousands of open tags end soon: a search that costs their square would take minutes."""
    assert settled(AIMessage(piece * 20_000)).tool_calls == []


@given(st.text(), st.text())
def test_a_printed_call_is_found_behind_any_argument(command: str, path: str) -> None:
    args = {"command": command, "path": path}
    text = f"<tool_call>{json.dumps({'name': 'bash', 'arguments': args})}</tool_call>"
    try:
        parse_arguments(args)
    except BadArguments:
        return
    assert [call.args for call in find_printed(text, {"bash"}).calls] == [args]
