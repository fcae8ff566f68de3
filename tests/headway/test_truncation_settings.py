"""How shortening is switched off and set by tool, and the settings that are refused."""

from typing import Any

import pytest
from truncation_support import DEFAULT, SMALL, cut, log

from headway.build import build_agent
from headway.truncation import TruncationLimits, limits_for
from headway_tools.errors import HeadwayError
from policies import replies


def test_off_means_off() -> None:
    whole = log(100_000)
    assert cut(whole, None) == whole
    assert cut(whole, {"bash": None}) == whole
    assert cut(whole, lambda name: None) == whole
    assert cut("\x00\ud800", None) == "\\x00\\ud800"


def test_limits_may_differ_by_tool() -> None:
    assert limits_for("bash", {"other": SMALL}) == DEFAULT
    assert limits_for("bash", {"bash": SMALL}) == SMALL
    assert limits_for("bash", lambda name: SMALL if name == "bash" else None) == SMALL
    assert len(cut(log(9_000), {"bash": SMALL})) <= 1_500


@pytest.mark.parametrize(
    "wrong", ["12000", {"look": 7}, lambda name: 7], ids=["text", "number", "function"]
)
def test_a_wrong_setting_is_refused_when_the_agent_is_built(wrong: Any) -> None:
    def look() -> str:
        """Look."""
        return ""

    with pytest.raises(HeadwayError, match="truncation of look: give TruncationLimits or None"):
        build_agent(replies("done"), tools=[look], truncation=wrong)


@pytest.mark.parametrize("bad", [{"characters": 0}, {"lines": 0}, {"characters": -1}])
def test_limits_that_nothing_fits_are_refused(bad: dict[str, int]) -> None:
    with pytest.raises(HeadwayError, match="pass None to switch shortening off"):
        TruncationLimits(**bad)
