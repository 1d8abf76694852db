"""Who is connected: those that have shown the token are always served, the others are few, and soon gone.

Anybody on this machine can open a connection and say nothing. So a request's head must come in time, and where there
are too many that have not shown the token, the oldest of them makes room for the next.
"""

from __future__ import annotations

import asyncio
import hmac
from typing import Any

from uvicorn.protocols.http.h11_impl import H11Protocol

from luthier.explorer.guard import TOKEN_HEADER

MOST_STRANGERS = 8
HEAD_SECONDS = 10.0


class Connections:
    """All connections of a server."""

    def __init__(self, token: str) -> None:
        self._token = token.encode("ascii")
        self._strangers: dict[_Connection, None] = {}  # the oldest first

    def open(self, **given: Any) -> _Connection:
        """Return what handles one more connection, in the form that uvicorn asks for."""
        return _Connection(self, **given)

    def began(self, connection: _Connection) -> None:
        """Take a connection that has shown nothing yet; the oldest of these goes if they are too many."""
        while len(self._strangers) >= MOST_STRANGERS:
            oldest = next(iter(self._strangers))
            del self._strangers[oldest]
            oldest.transport.abort()
        self._strangers[connection] = None

    def heard(self, connection: _Connection, headers: list[tuple[bytes, bytes]]) -> None:
        """Look at the head of a request: who shows the token is no stranger."""
        shown = [value for name, value in headers if name == TOKEN_HEADER.encode()]
        if len(shown) == 1 and hmac.compare_digest(shown[0], self._token):
            self._strangers.pop(connection, None)

    def ended(self, connection: _Connection) -> None:
        """Forget a connection."""
        self._strangers.pop(connection, None)


class _Connection(H11Protocol):  # type: ignore[misc]
    def __init__(self, all_of_them: Connections, **given: Any) -> None:
        super().__init__(**given)
        self._all = all_of_them
        self._timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        self._all.began(self)
        self._wait()

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_waiting()
        self._all.ended(self)
        super().connection_lost(exc)

    def handle_events(self) -> None:
        before = self.cycle
        super().handle_events()
        if self.cycle is not before:  # a whole head has come
            self._stop_waiting()
            self._all.heard(self, self.headers)

    def on_response_complete(self) -> None:
        super().on_response_complete()
        if self._timer is None and not self.transport.is_closing():
            self._wait()

    def _wait(self) -> None:
        """Give up the connection unless a whole head comes in time."""
        self._timer = self.loop.call_later(HEAD_SECONDS, self._give_up)

    def _stop_waiting(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _give_up(self) -> None:
        self._timer = None
        if self.cycle is None or self.cycle.response_complete:
            self.transport.abort()
