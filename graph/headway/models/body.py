"""The body of a response, whole or as a stream of events, read into a completion."""

import json
from collections.abc import Iterator

from langchain_core.messages import AIMessage, AIMessageChunk

from headway.models.completion import Completion
from headway.models.failure import BadReply, Dropped
from headway.models.sse import EventReader
from headway_tools.values import bounded


def read_completion(body: bytes) -> AIMessage:
    """The reply in the body of a response that was not streamed.

    Raises:
        BadReply: an error object, an HTML page, no choices, no message.
    """
    completion = Completion()
    completion.take(_parsed(body.decode("utf-8-sig", "replace")), whole=True)
    if not completion.chosen:
        raise BadReply(f"the endpoint sent no message: {_preview(body)}")
    return completion.message()


class StreamReader:
    """The reply in a stream of events; also of a server that ignored the wish to stream."""

    def __init__(self) -> None:
        self._events = EventReader()
        self._completion = Completion()
        self.done = False

    def feed(self, part: bytes) -> Iterator[AIMessageChunk]:
        """The pieces that `part` completes."""
        yield from self._read(self._events.feed(part))

    def close(self) -> Iterator[AIMessageChunk]:
        """The last pieces.

        Raises:
            Dropped: the stream ended before the reply did.
            BadReply: there was no reply in it.
        """
        yield from self._read(self._events.close())
        completion = self._completion
        if not self._events.saw_events:
            body = _parsed(self._events.head.decode("utf-8-sig", "replace"))
            yield completion.take(body, whole=True)
            self.done = True
        if not self.done and completion.finish is None:
            raise Dropped("the stream ended in the middle of the reply")
        if not completion.chosen:
            raise BadReply("the endpoint sent a stream without a message")
        yield completion.rest()

    @property
    def finished(self) -> bool:
        """The model has said why it stopped; only usage could still follow."""
        return self._completion.finish is not None

    def _read(self, events: Iterator[str]) -> Iterator[AIMessageChunk]:
        for data in events:
            if self.done:
                return
            if data.strip() == "[DONE]":
                self.done = True
            elif data.strip():
                yield self._completion.take(_parsed(data))


def _parsed(text: str) -> object:
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise BadReply(f"the endpoint sent no JSON: {_preview(text.encode())}") from error


def _preview(body: bytes) -> str:
    return bounded(" ".join(body.decode("utf-8", "replace").split()), 200) or "(nothing)"
