"""What the model sees of a result: its two ends, the failures between them, and how to read on.

Pure functions on text; the whole stays in the journal.
"""

from headway.truncation.limits import Truncation, TruncationLimits, limits_for
from headway.truncation.shorten import shorten

__all__ = ["Truncation", "TruncationLimits", "limits_for", "shorten"]
