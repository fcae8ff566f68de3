import os
from pathlib import Path
from typing import Any

import pytest

from headway_cli.settings import load_env_file, parse_pairs, read_config, resolve, values
from headway_tools.errors import HeadwayError


def resolved(
    flags: dict[str, Any] | None = None,
    environ: dict[str, str] | None = None,
    config: dict[str, Any] | None = None,
) -> dict[str, Any]:
    return values(resolve(flags or {}, environ or {}, config or {}))


def test_flag_beats_environment_beats_config_file_beats_default() -> None:
    config = {"ask": "edits"}
    environ = {"HEADWAY_ASK": "all"}
    layers = [
        resolve({"ask": "never"}, environ, config)["ask"],
        resolve({}, environ, config)["ask"],
        resolve({}, {}, config)["ask"],
        resolve({}, {}, {})["ask"],
    ]
    assert [(layer.value, layer.source) for layer in layers] == [
        ("never", "flag"),
        ("all", "environment"),
        ("edits", "config file"),
        ("never", "default"),
    ]


def test_a_flag_that_equals_the_default_still_wins() -> None:
    assert resolved({"network": False}, {"HEADWAY_NETWORK": "yes"})["network"] is False


def test_tables_are_merged_key_by_key() -> None:
    found = resolved(
        {"limit": ["model_calls=5"]},
        {"HEADWAY_LIMIT": "model_calls=9 seconds=60"},
        {"limit": {"seconds": 5, "tokens": 100}},
    )
    assert found["limit"] == {"model_calls": 5, "seconds": 60, "tokens": 100}


def test_lists_in_a_variable_are_split_like_path() -> None:
    assert resolved(environ={"HEADWAY_PROTECT": "tests:*.json"})["protect"] == ["tests", "*.json"]


def test_a_number_is_one_in_each_place() -> None:
    places = [
        {"flags": {"window": 8_000}},
        {"environ": {"HEADWAY_WINDOW": "8000"}},
        {"config": {"window": 8_000}},
    ]
    assert [resolved(**place)["window"] for place in places] == [8_000] * 3


def test_a_pair_is_json_or_text() -> None:
    pairs = ["temperature=0.5", "stop=[1]", "effort=low", "url=http://a/?b=c"]
    assert parse_pairs(pairs, option="--model-arg") == {
        "temperature": 0.5,
        "stop": [1],
        "effort": "low",
        "url": "http://a/?b=c",
    }


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"flags": {"ask": "sometimes"}}, "--ask takes never, edits, all"),
        ({"flags": {"model_arg": ["x"]}}, "--model-arg takes NAME=VALUE"),
        ({"flags": {"window": 0}}, "--window takes a whole number above 0, not 0"),
        ({"environ": {"HEADWAY_WINDOW": "8k"}}, "HEADWAY_WINDOW takes a whole number"),
        ({"config": {"window": True}}, "window in config.toml takes a whole number"),
        ({"environ": {"HEADWAY_NETWORK": "maybe"}}, "HEADWAY_NETWORK takes true or false"),
        ({"config": {"protect": "tests"}}, "protect in config.toml takes a list"),
        ({"config": {"limit": 3}}, "limit in config.toml takes a table"),
        ({"config": {"model": 3}}, "model in config.toml takes a text"),
        ({"config": {"modell": "x"}}, "config.toml has no setting 'modell'"),
    ],
)
def test_a_wrong_value_names_its_place(given: dict[str, Any], said: str) -> None:
    with pytest.raises(HeadwayError, match=said):
        resolved(**given)


def test_a_broken_config_file_is_one_clear_error(tmp_path: Path) -> None:
    broken = tmp_path / "config.toml"
    assert read_config(broken) == {}
    broken.write_text("model =")
    with pytest.raises(HeadwayError, match=r"cannot read .*config\.toml"):
        read_config(broken)


def test_an_env_file_never_overrides_the_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HEADWAY_TEST_SET", "mine")
    monkeypatch.setenv("HEADWAY_TEST_NEW", "x")
    monkeypatch.delenv("HEADWAY_TEST_NEW")
    path = tmp_path / ".env"
    path.write_text("HEADWAY_TEST_SET=theirs\nHEADWAY_TEST_NEW='a ${HOME}'\n")
    load_env_file(path, required=True)
    assert os.environ["HEADWAY_TEST_SET"] == "mine"
    assert os.environ.pop("HEADWAY_TEST_NEW") == "a ${HOME}"


def test_a_named_env_file_must_exist(tmp_path: Path) -> None:
    load_env_file(tmp_path / ".env", required=False)
    with pytest.raises(HeadwayError, match="--env-file"):
        load_env_file(tmp_path / ".env", required=True)
