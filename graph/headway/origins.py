"""No foreign web page may send a served headway anything (`http.app` in langgraph.json).

CORS only keeps such a page from reading answers. A form, or a request of type text/plain, is sent
without asking the server first, and a run is a shell.
"""

import importlib
import json
import os
import re
from typing import Any, Final

from starlette.applications import Starlette
from starlette.datastructures import Headers
from starlette.middleware import Middleware
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Receive, Scope, Send

LOOPBACK: Final = r"http://(localhost|127\.0\.0\.1)(:[0-9]+)?"
"""Pages that may send where the server names no others."""


class OriginGuard:
    """Refuses what a browser sends for a page that the server's `http.cors` does not name."""

    def __init__(self, app: ASGIApp) -> None:
        given = json.loads(os.environ.get("LANGGRAPH_HTTP") or "{}")
        cors: dict[str, Any] = given.get("cors") or {}
        self._app = app
        self._origins = frozenset(cors.get("allow_origins") or ())
        self._pattern = re.compile(cors.get("allow_origin_regex") or LOOPBACK)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        origin = Headers(scope=scope).get("origin") if scope["type"] == "http" else None
        if origin is None or self._allows(origin):
            await self._app(scope, receive, send)
            return
        refused = {"detail": f"pages of {origin} may not call this server (http.cors)"}
        await JSONResponse(refused, 403)(scope, receive, send)

    def _allows(self, origin: str) -> bool:
        known = origin in self._origins or "*" in self._origins
        return known or self._pattern.fullmatch(origin) is not None


def _application() -> type[Starlette]:
    """Aegra takes a FastAPI application only, which is a Starlette one; others bring no FastAPI."""
    try:
        made: type[Starlette] = importlib.import_module("fastapi").FastAPI
    except ImportError:
        return Starlette
    return made


app = _application()(middleware=[Middleware(OriginGuard)])
