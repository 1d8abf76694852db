"""Who may ask: this machine's own page, with the token; everybody else is refused before any work is done."""

from __future__ import annotations

import asyncio
import hmac
import json
from collections.abc import Iterable

from starlette.types import ASGIApp, Message, Receive, Scope, Send

LARGEST_BODY = 64 * 1024
BODY_SECONDS = 10.0  # in which the whole body of a request must come
TOKEN_HEADER = "x-luthier-token"
API = "/api/"
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
HEADERS = (
    (b"content-security-policy", POLICY.encode()),
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"x-frame-options", b"DENY"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"cache-control", b"no-store"),
)


class Middleware:
    """Lets requests through to an application if host, origin, method, size and token are right.

    Parameters
    ----------
    app : ASGIApp
    token : str or None
        What the page must send with every question; None where everybody on this machine may ask.
    port : int
        On which this machine's page is.
    questions : str
        How the addresses of questions begin.
    hint : str
        Where the token is to be had.
    """

    def __init__(
        self,
        app: ASGIApp,
        token: str | None,
        port: int,
        *,
        questions: str | tuple[str, ...] = API,
        hint: str = "open the address that 'luthier explore' printed",
    ) -> None:
        self._app, self._token = app, None if token is None else token.encode("utf-8")
        self._questions, self._hint = questions, hint
        self._hosts = tuple(f"{name}:{port}".encode() for name in ("127.0.0.1", "localhost"))
        self._origins = tuple(b"http://" + host for host in self._hosts)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer or refuse one request."""
        if scope["type"] != "http":
            if scope["type"] == "websocket":
                await send({"type": "websocket.close", "code": 1008})
            return

        async def sealed(message: Message) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = [*message.get("headers", ()), *HEADERS]
            await send(message)

        refusal = self._refusal(scope)
        if refusal is not None:
            await refuse(sealed, *refusal)
            return
        try:
            body = await asyncio.wait_for(_whole_body(receive), BODY_SECONDS)
        except TimeoutError:
            await refuse(sealed, 408, f"expected the whole request within {BODY_SECONDS:g} seconds")
            return
        if body is None:
            await refuse(sealed, 413, f"expected a request of at most {LARGEST_BODY} bytes")
            return
        await self._app(scope, _again(body, receive), sealed)

    def _refusal(self, scope: Scope) -> tuple[int, str] | None:
        """Return status and reason where a request is refused by its head."""
        headers: Iterable[tuple[bytes, bytes]] = scope["headers"]
        values: dict[bytes, list[bytes]] = {}
        for name, value in headers:
            values.setdefault(name.lower(), []).append(value)
        if len(values.get(b"host", ())) != 1 or values[b"host"][0] not in self._hosts:
            return 403, "this is not the host that the page is on"
        if any(origin not in self._origins for origin in values.get(b"origin", ())):
            return 403, "the request comes from another page"
        if any(site not in (b"same-origin", b"none") for site in values.get(b"sec-fetch-site", ())):
            return 403, "the request comes from another page"
        if scope["method"] not in ("GET", "POST"):
            return 405, "expected GET or POST"
        lengths = values.get(b"content-length", [])
        if any(not value.isdigit() or len(value) > 9 or int(value) > LARGEST_BODY for value in lengths):
            return 413, f"expected a request of at most {LARGEST_BODY} bytes"
        if not scope["path"].startswith(self._questions):
            return None
        tokens = values.get(TOKEN_HEADER.encode(), [])
        if self._token is not None and (len(tokens) != 1 or not hmac.compare_digest(tokens[0], self._token)):
            return 401, f"the token is missing or wrong: {self._hint}"
        if scope["method"] == "POST" and values.get(b"content-type") != [b"application/json"]:
            return 415, "expected JSON"
        return None


async def _whole_body(receive: Receive) -> bytes | None:
    """Return the body of a request, None where it is too long."""
    parts: list[bytes] = []
    size = 0
    while True:
        message = await receive()
        if message["type"] != "http.request":
            return b"".join(parts)
        parts.append(message.get("body", b""))
        size += len(parts[-1])
        if size > LARGEST_BODY:
            return None
        if not message.get("more_body"):
            return b"".join(parts)


def _again(body: bytes, receive: Receive) -> Receive:
    """Return a source of messages that gives a body that was read already, then what comes."""
    waiting = [body]

    async def give() -> Message:
        if waiting:
            return {"type": "http.request", "body": waiting.pop(), "more_body": False}
        return await receive()

    return give


async def refuse(send: Send, status: int, reason: str) -> None:
    """Send an error in one sentence."""
    body = json.dumps({"error": reason}).encode()
    headers = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
