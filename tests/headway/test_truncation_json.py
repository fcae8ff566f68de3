"""JSON and content blocks that are shortened stay what they are."""

import json

import pytest
from truncation_support import DEFAULT, SMALL, assert_within, cut, log

from headway.truncation import TruncationLimits
from headway.truncation.clean import terminal_text
from headway_tools.blocks import READ_OUTPUT
from headway_tools.results import observation


@pytest.mark.parametrize("name", ["bash", "read_file"])
def test_json_with_unsendable_names_can_be_sent(name: str) -> None:
    text = cut('{"caf\udce9": "caf\udce9"}', name=name)
    text.encode("utf-8")
    assert cut(text, name=name) == text
    assert len(json.loads(text)) == 1


def test_a_json_result_stays_parseable_and_is_cut_inside_its_fields() -> None:
    whole = {"ok": False, "exit_code": 2, "output": log(6_000, _3000="E   KeyError"), "cwd": "/w"}
    text = cut(observation(whole))
    shown = json.loads(text)
    assert len(text) <= SMALL.characters
    assert (shown["ok"], shown["exit_code"], shown["cwd"]) == (False, 2, "/w")
    assert shown["truncated"] is True
    assert "o-3f9a1c2b" in shown["notice"]
    assert "\n3000: E   KeyError\n" in shown["output"]
    assert 'read_output(id=\\"o-3f9a1c2b\\", field=\\"output\\", start=' in text
    assert shown["output"].startswith("test_1 passed\n")
    assert shown["output"].endswith("\ntest_6000 passed")


@pytest.mark.parametrize("unit", ["x", "\x07", "漢", "\ud800"])
def test_the_smallest_limits_leave_each_field_a_beginning(unit: str) -> None:
    whole = {"ok": True, "exit_code": 0, "stdout": unit * 9_000, "stderr": "E" * 9_000}
    text = cut(observation(whole), TruncationLimits(characters=500, lines=10))
    shown = json.loads(text)
    assert len(text) <= 500
    assert shown.keys() == {*whole, "truncated", "notice"}
    assert shown["stdout"].startswith(terminal_text(unit))
    assert shown["stderr"].startswith("EEEEEEEE")


def test_long_lists_lose_entries_and_keep_their_form() -> None:
    whole = {"ok": True, "matches": [{"path": f"src/{i}.py", "line": i} for i in range(5_000)]}
    shown = json.loads(cut(observation(whole), DEFAULT))
    kept = len(shown["matches"])
    assert 100 < kept < 5_000
    assert shown["matches"] == whole["matches"][:kept]  # type: ignore[index]
    assert f"{kept} of 5000 entries of matches" in shown["notice"]


def test_an_array_becomes_items_of_an_object() -> None:
    shown = json.loads(cut(json.dumps(list(range(100_000)))))
    assert shown["items"][:3] == [0, 1, 2]
    assert shown["truncated"] is True


def test_json_that_fits_without_its_white_space_is_whole() -> None:
    value = {"rows": [{"id": i} for i in range(60)]}
    shown = cut(json.dumps(value, indent=8))
    assert json.loads(shown) == value


def test_a_notice_of_the_tool_itself_stays() -> None:
    shown = json.loads(cut(observation({"notice": "mind the gap", "text": "x" * 9_000})))
    assert shown["notice"].startswith("mind the gap ")
    shown = json.loads(cut(observation({"notice": "mind " * 9_000, "ok": False})))
    assert shown["notice"].startswith("mind mind ")
    assert shown["ok"] is False


def test_json_too_large_to_parse_becomes_its_two_ends() -> None:
    text = cut('{"rows": [' + "1, " * 11_000_000 + '"end"]}')
    shown = json.loads(text)
    assert shown["truncated"] is True
    assert shown["head"].startswith('{"rows": [1, ')
    assert shown["tail"].endswith('"end"]}')
    assert len(text) <= SMALL.characters


@pytest.mark.parametrize("end", ["}", '"}'])
def test_an_object_of_giant_names_or_no_sense_becomes_its_two_ends(end: str) -> None:
    names = json.dumps({f"{i}" * 3_000: i for i in range(9)})
    assert json.loads(cut(names))["truncated"] is True
    assert len(cut(names)) <= SMALL.characters
    assert len(cut("{" + "\x01\ud800" * 20_000_000 + end)) <= SMALL.characters


def test_json_deeper_than_the_stack_is_shortened_all_the_same() -> None:
    for depth in (100, 400, 900, 5_000):
        text = cut("[" * depth + '"' + "x" * 9_000 + '"' + "]" * depth)
        assert len(text) <= SMALL.characters
        assert READ_OUTPUT in text


def test_text_that_only_looks_like_json_is_text() -> None:
    assert_within(cut("{not json\n" * 10_000), SMALL)
    assert_within(cut("[" * 100_000), SMALL)


def test_content_blocks_are_measured_together_and_images_stay() -> None:
    image = {"type": "image", "base64": "A" * 50_000}
    blocks = [{"type": "text", "text": log(3_000)}, image, {"type": "text", "text": "the end"}]
    shown = cut(blocks)
    assert shown[1:] == [image]
    assert_within(shown[0]["text"], SMALL)
    assert shown[0]["text"].endswith("the end")
    assert cut(shown) == shown
    assert cut(blocks[1:]) == blocks[1:]


def test_media_beyond_all_measure_are_left_out_and_counted() -> None:
    image = {"type": "image", "base64": "A" * 1_500_000}
    shown = cut([{"type": "text", "text": "see"}, image, image])
    assert shown[1:] == [image]
    assert "1 images or files left out" in shown[0]["text"]
    assert cut(shown) == shown
