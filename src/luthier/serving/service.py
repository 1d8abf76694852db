"""The addresses of a model that is served: translations, explanations, load figures, and a page to type into."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from importlib.resources import files
from typing import Any

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from luthier.core.errors import LuthierError, printable
from luthier.core.progress import notice
from luthier.core.settings import parse_json
from luthier.explorer.middleware import TOKEN_HEADER, Middleware
from luthier.explorer.server import HOME, Connections, LocalServer
from luthier.jobs.translate import Answer, Wanted
from luthier.serving.translator import Busy, Translator, checked_lines

MOST_CONNECTIONS = 256
MOST_LINES, MOST_WORDS, MOST_BEST = 100, 200, 100
PAGE = {
    "/": ("page.html", "text/html"),
    "/page.js": ("page.js", "text/javascript"),
    "/page.css": ("page.css", "text/css"),
}
QUESTIONS = ("/translate", "/explain", "/load")
REFUSAL = b'{"error": "too many connections are open"}'
FULL = b"HTTP/1.1 429 Too Many Requests\r\nretry-after: 1\r\ncontent-type: application/json\r\nconnection: close\r\n"
FULL += b"content-length: %d\r\n\r\n%s" % (len(REFUSAL), REFUSAL)


class FewConnections(Connections):
    """All connections of a service: those beyond the most are told so and closed; no other is."""

    def __init__(self) -> None:
        super().__init__("")
        self._open: set[Any] = set()

    def began(self, connection: Any) -> None:
        """Take a connection, or refuse it."""
        if len(self._open) >= MOST_CONNECTIONS:
            connection.transport.write(FULL)
            connection.transport.close()
        else:
            self._open.add(connection)

    def heard(self, connection: Any, headers: list[tuple[bytes, bytes]]) -> None:
        """Look at the head of a request: all callers are alike."""

    def ended(self, connection: Any) -> None:
        """Forget a connection."""
        self._open.discard(connection)


class Service(LocalServer):
    """A model on a port of this machine; `token` is what callers must send, None for nothing."""

    def __init__(
        self, translator: Translator, port: int = 0, *, token: str | None = None, say: Callable[[str], None] = notice
    ) -> None:
        super().__init__(lambda own: _app(translator, own, token, say), FewConnections().open, port)
        self._token = token

    @property
    def address(self) -> str:
        """What to open in a browser; a token is in the fragment, which no browser sends anywhere."""
        return f"http://{HOME}:{self.port}/" + ("" if self._token is None else f"#token={self._token}")


def _app(translator: Translator, port: int, token: str | None, say: Callable[[str], None]) -> Middleware:
    async def load(request: Request) -> Response:  # noqa: ARG001
        return _reply(200, translator.figures())

    async def icon(request: Request) -> Response:  # noqa: ARG001
        return Response(b"", media_type="image/x-icon")  # every browser asks for one

    routes = [Route(address, _file(*file), methods=["GET"]) for address, file in PAGE.items()]
    routes.append(Route("/favicon.ico", icon, methods=["GET"]))
    routes += [
        Route("/translate", _asking(translator, say, explain=False), methods=["POST"]),
        Route("/explain", _asking(translator, say, explain=True), methods=["POST"]),
        Route("/load", load, methods=["GET"]),
    ]
    app = Starlette(routes=routes, exception_handlers={404: _lost, 405: _lost, Exception: _lost})
    app.router.redirect_slashes = False
    hint = f"send the one that the service was started with as the header {TOKEN_HEADER}"
    return Middleware(app, token, port, questions=QUESTIONS, hint=hint)


def _asking(
    translator: Translator, say: Callable[[str], None], *, explain: bool
) -> Callable[[Request], Awaitable[Response]]:
    async def endpoint(request: Request) -> Response:
        try:
            asked = _parsed(await request.body())
            wanted = Wanted(best=_best(asked), explain=explain)
            lines = checked_lines(asked, most_lines=1 if explain else MOST_LINES, most_words=MOST_WORDS)
            answers = await asyncio.wrap_future(translator.ask(lines, wanted))
            return _reply(200, _told(answers, single="text" in asked))
        except Busy as busy:
            return _reply(429, {"error": str(busy)}, {"retry-after": str(busy.seconds)})
        except LuthierError as error:
            return _reply(400, {"error": printable(str(error))})
        except Exception as error:  # a fault of ours must not end the server
            told = f"{type(error).__name__}: {error}"
            say(f"a request failed: {told}; this is a fault of luthier")
            return _reply(500, {"error": f"a fault of luthier: {told}"})

    return endpoint


def _parsed(raw: bytes) -> dict[str, Any]:
    try:
        asked = parse_json(raw)
    except ValueError as error:
        raise LuthierError(f"expected JSON, found {error}") from None
    if not isinstance(asked, dict):
        raise LuthierError("expected a JSON object")
    unknown = sorted(asked.keys() - {"text", "lines", "best"})
    if unknown:
        raise LuthierError(f"expected text or lines, and best, found {unknown[0][:50]!r}")
    return asked


def _best(asked: dict[str, Any]) -> int:
    best = asked.get("best", 1)
    if type(best) is not int or not 1 <= best <= MOST_BEST:
        raise LuthierError(f"expected a whole number from 1 to {MOST_BEST} as 'best'")
    return best


def _told(answers: list[Answer], *, single: bool) -> dict[str, Any]:
    return answers[0].as_dict() if single else {"translations": [found.as_dict() for found in answers]}


def _reply(status: int, values: dict[str, Any], headers: dict[str, str] | None = None) -> Response:
    body = json.dumps(values, ensure_ascii=False, allow_nan=False).encode("utf-8", "replace")
    return Response(body, status, headers, "application/json")


def _file(name: str, kind: str) -> Callable[[Request], Awaitable[Response]]:
    body = (files("luthier.serving") / "page" / name).read_bytes()

    async def endpoint(request: Request) -> Response:  # noqa: ARG001
        return Response(body, media_type=f"{kind}; charset=utf-8")

    return endpoint


async def _lost(request: Request, error: Exception) -> Response:  # noqa: ARG001
    return _reply(getattr(error, "status_code", 500), {"error": "there is nothing at this address"})
