"""The record of a thread: what of its options a later process gets back."""

from collections.abc import Mapping
from typing import Any

import pytest

from headway.threads import ThreadRecord, plain_options, stored_options
from headway.truncation import TruncationLimits

SMALL = TruncationLimits(characters=2_000, lines=50)


@pytest.mark.parametrize("truncation", [SMALL, None, {"bash": SMALL, "read_file": None}])
def test_limits_of_observations_are_kept(truncation: Any) -> None:
    record = ThreadRecord(thread="t", task="x", options=plain_options({"truncation": truncation}))
    again = ThreadRecord.model_validate_json(record.model_dump_json())
    assert stored_options(again)["truncation"] == truncation


def test_functions_objects_and_keys_are_not_kept() -> None:
    options: Mapping[str, Any] = {
        "truncation": lambda name: SMALL,
        "verify": print,
        "api_key": "k",
        "check": "true",
    }
    assert plain_options(options) == {"check": "true"}
