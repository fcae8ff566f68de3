"""The request within the model's window: older observations shorter, history untouched.

Tokens are estimated offline and calibrated by what servers reported. Shortening happens in few
large steps, each kept as plain data in state, so between steps a request starts with the bytes of
the one before.
"""

from headway.window.fit import Fitted, fit
from headway.window.tokens import (
    estimate_tokens,
    factor_from,
    overhead_from,
    tool_weight,
    written_tokens,
)

__all__ = [
    "Fitted",
    "estimate_tokens",
    "factor_from",
    "fit",
    "overhead_from",
    "tool_weight",
    "written_tokens",
]
