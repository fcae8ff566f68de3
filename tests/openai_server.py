"""A scripted OpenAI-compatible endpoint on loopback, as strict about requests as the strictest.

`with OpenAIServer([says("hi"), calls("bash", command="ls")]) as server:` answers one reply a
request; `server.url` is the base URL, `server.requests` what came, `server.refused` the reasons
for which a request was answered 400. A reply is a `Reply`, or a function of the `Request`.
"""

import json
import re
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from wire_rules import wire_problems

Body = dict[str, Any]


@dataclass(frozen=True)
class Request:
    """One request as it arrived."""

    body: Body
    headers: dict[str, str]
    data: bytes = b""
    """The body as it was sent."""

    @property
    def messages(self) -> list[Body]:
        return list(self.body["messages"])

    @property
    def streamed(self) -> bool:
        return bool(self.body.get("stream"))


@dataclass(frozen=True)
class Reply:
    """One answer: a completion rendered as the request wants it, or bytes as they are."""

    message: Body | None = None
    """Of a completion; the other fields of it are below."""
    finish: str | None = "stop"
    usage: Body | None = None
    events: tuple[object, ...] | None = None
    """Chunks of a stream as they are (dicts, or strings sent as they stand)."""
    raw: bytes | None = None
    """The body, instead of all of the above."""
    status: int = 200
    headers: tuple[tuple[str, str], ...] = ()
    delay: float = 0.0
    """Seconds before the first byte of the body."""
    drip: float = 0.0
    """Seconds before each further piece of the body."""
    cut: int | None = None
    """Close the connection after this many pieces of the body."""
    pieces: int = 24
    """Bytes of one piece, where the body is dripped or cut."""
    unframed: bool = False
    """The end of the body is the end of the connection, so a cut looks like a clean end."""

    def but(self, **changes: Any) -> "Reply":
        """The same reply with other fields."""
        return replace(self, **changes)


def says(content: object, finish: str | None = "stop", **extra: Any) -> Reply:
    """An answer in text; `extra` are more fields of the message."""
    usage = {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15}
    return Reply({"role": "assistant", "content": content, **extra}, finish, usage)


def calls(name: str, call_id: str | None = "call_a", **args: Any) -> Reply:
    """One good tool call."""
    return raw_calls(wire_call(name, json.dumps(args), call_id))


def raw_calls(*entries: Body, content: object = None, finish: str = "tool_calls") -> Reply:
    """Tool calls exactly as given (see `wire_call`)."""
    return says(content, finish, tool_calls=list(entries))


def wire_call(name: object, arguments: object, call_id: str | None = "call_a") -> Body:
    """One entry of `tool_calls`; without an id where `call_id` is None."""
    entry: Body = {"type": "function", "function": {"name": name, "arguments": arguments}}
    return entry if call_id is None else {"id": call_id, **entry}


def fails(status: int, message: str, code: str | None = None, **headers: str) -> Reply:
    """An error of the endpoint; `retry_after="3"` becomes the header Retry-After."""
    body = {"error": {"message": message, "type": code, "code": code}}
    named = tuple((key.replace("_", "-"), value) for key, value in headers.items())
    return Reply(raw=json.dumps(body).encode(), status=status, headers=named)


def sends(raw: str | bytes, status: int = 200, content_type: str = "application/json") -> Reply:
    """Bytes as they are."""
    data = raw.encode() if isinstance(raw, str) else raw
    return Reply(raw=data, status=status, headers=(("content-type", content_type),))


def streams(*events: object) -> Reply:
    """A stream of these chunks; also for a request that asked for none."""
    return Reply(events=events)


def chunk(delta: object, finish: str | None = None, **extra: Any) -> Body:
    """One chunk of a stream."""
    choice = {"index": 0, "delta": delta, "finish_reason": finish}
    return {"id": "c1", "object": "chat.completion.chunk", "choices": [choice], **extra}


Answer = Reply | Callable[[Request], Reply]


@dataclass
class OpenAIServer:
    """Answers `POST /v1/chat/completions` from a script; the last answer repeats with `repeat`."""

    replies: Sequence[Answer] | Callable[[Request], Reply]
    strict: bool = True
    repeat: bool = False
    requests: list[Request] = field(default_factory=list)
    refused: list[str] = field(default_factory=list)
    errors: list[BaseException] = field(default_factory=list)
    """What went wrong in the server itself; raised at the end of the `with` block."""

    def __post_init__(self) -> None:
        self.stopped = threading.Event()
        self._lock = threading.Lock()
        self._answered = 0

    def __enter__(self) -> "OpenAIServer":
        self._http = _Http(("127.0.0.1", 0), _Handler)
        self._http.script = self
        self._thread = threading.Thread(target=self._http.serve_forever, args=(0.02,))
        self._thread.start()
        return self

    def __exit__(self, *exc: object) -> None:
        self.stopped.set()
        self._http.shutdown()
        self._http.server_close()
        self._thread.join()
        if self.errors and exc[0] is None:
            raise self.errors[0]

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._http.server_address[1]}/v1"

    def answer(self, request: Request) -> Reply:
        """The reply to this request."""
        with self._lock:
            self.requests.append(request)
            problems = wire_problems(request.body) if self.strict else []
            if problems:
                self.refused += problems
                return fails(400, f"invalid request: {'; '.join(problems)}")
            if callable(self.replies):
                return self.replies(request)
            at = min(self._answered, len(self.replies) - 1) if self.repeat else self._answered
            self._answered += 1
            if at >= len(self.replies):
                return fails(418, "the script of the test server is over")
            reply = self.replies[at]
        return reply(request) if callable(reply) else reply


class _Http(ThreadingHTTPServer):
    daemon_threads = False
    script: OpenAIServer

    def handle_error(self, request: object, client_address: object) -> None:
        import sys

        error = sys.exc_info()[1]
        if error is not None and not isinstance(error, ConnectionError):
            self.script.errors.append(error)


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: _Http

    def log_message(self, format: str, *args: object) -> None:
        """Silent."""

    def do_POST(self) -> None:
        data = self.rfile.read(int(self.headers.get("content-length", 0)))
        headers = {k.lower(): v for k, v in self.headers.items()}
        request = Request(json.loads(data), headers, data)
        self._send(self.server.script.answer(request), request)

    def _send(self, reply: Reply, request: Request) -> None:
        self.close_connection = True
        streamed = reply.raw is None and (reply.events is not None or request.streamed)
        body = reply.raw if reply.raw is not None else _rendered(reply, request, streamed)
        pieces = [body[i : i + reply.pieces] for i in range(0, len(body), reply.pieces)]
        plain = not reply.drip and reply.cut is None
        self.send_response(reply.status)
        headers = dict(reply.headers)
        kind = "text/event-stream" if streamed else "application/json"
        headers.setdefault("content-type", kind)
        chunked = streamed and not reply.unframed
        if chunked:
            headers["transfer-encoding"] = "chunked"
        elif not reply.unframed:
            headers["content-length"] = str(len(body))
        for name, value in {**headers, "connection": "close"}.items():
            self.send_header(name, value)
        if self._waits(reply.delay):
            return
        self.end_headers()
        for piece in ([body] if plain else pieces)[: reply.cut]:
            self.wfile.write(b"%x\r\n%s\r\n" % (len(piece), piece) if chunked else piece)
            self.wfile.flush()
            if self._waits(reply.drip):
                return
        if chunked and reply.cut is None:
            self.wfile.write(b"0\r\n\r\n")

    def _waits(self, seconds: float) -> bool:
        """Wait; whether the server was stopped meanwhile."""
        return bool(seconds) and self.server.script.stopped.wait(seconds)


def _rendered(reply: Reply, request: Request, streamed: bool) -> bytes:
    if streamed:
        events = reply.events if reply.events is not None else tuple(_events(reply, request))
        lines = [e if isinstance(e, str) else f"data: {json.dumps(e)}\n\n" for e in events]
        if reply.events is None:
            lines.append("data: [DONE]\n\n")
        return "".join(lines).encode()
    choice = {"index": 0, "message": reply.message, "finish_reason": reply.finish}
    body: Body = {"id": "c1", "object": "chat.completion", "model": "m", "choices": [choice]}
    return json.dumps(body | ({"usage": reply.usage} if reply.usage else {})).encode()


def _events(reply: Reply, request: Request) -> Iterator[Body]:
    """The completion in pieces: text by words, arguments by seven characters."""
    message = reply.message or {}
    yield chunk({"role": "assistant", "content": ""}, model="m")
    for name in ("reasoning_content", "content", "refusal"):
        text = message.get(name)
        for part in re.findall(r"\S*\s*", text) if isinstance(text, str) else [text]:
            if part:
                yield chunk({name: part})
    for index, call in enumerate(message.get("tool_calls") or ()):
        yield from _call_events(index, call)
    yield chunk({}, reply.finish)
    if reply.usage and (request.body.get("stream_options") or {}).get("include_usage"):
        yield {"id": "c1", "choices": [], "usage": reply.usage}


def _call_events(index: int, call: Body) -> Iterator[Body]:
    function = call["function"]
    arguments = function.get("arguments")
    if not isinstance(arguments, str):
        yield chunk({"tool_calls": [{"index": index, **call}]})
        return
    first = {**call, "index": index, "function": {**function, "arguments": ""}}
    yield chunk({"tool_calls": [first]})
    for at in range(0, len(arguments), 7):
        piece = {"index": index, "function": {"arguments": arguments[at : at + 7]}}
        yield chunk({"tool_calls": [piece]})
