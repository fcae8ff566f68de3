"""The text protocol: tools for models that cannot call them, by lines of their text."""

from headway.protocol.contract import CORRECTION
from headway.protocol.model import TextProtocol
from headway.protocol.reading import Reading, read_reply

__all__ = ["CORRECTION", "Reading", "TextProtocol", "read_reply"]
