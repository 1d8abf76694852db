"""The server: one socket of this machine only, one page, until Ctrl-C."""

from __future__ import annotations

import asyncio
import errno
import hmac
import os
import secrets
import socket
import sys
import threading
import webbrowser
from collections.abc import Callable
from typing import Any

import uvicorn
from starlette.types import ASGIApp
from uvicorn.protocols.http.h11_impl import H11Protocol

from luthier.core.errors import LuthierError
from luthier.core.progress import notice
from luthier.explorer.app import make_app
from luthier.explorer.middleware import TOKEN_HEADER
from luthier.explorer.sessions.session import Session
from luthier.explorer.sessions.workspace import Workspace

# Who is connected: those that have shown the token are always served, the others are few, and soon gone.
#
# Anybody on this machine can open a connection and say nothing. So a request's head must come in time, and where there
# are too many that have not shown the token, the oldest of them makes room for the next.

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


HOME = "127.0.0.1"
LARGEST_HEAD = 16 * 1024
IDLE_SECONDS, GRACE_SECONDS = 30, 2
TOKEN_BYTES = 24


class LocalServer:
    """An application on a port of this machine, 0 for any that is free.

    `make` gives the application that answers on a port, `connection` handles one connection, as uvicorn asks.
    """

    def __init__(self, make: Callable[[int], ASGIApp], connection: Callable[..., H11Protocol], port: int) -> None:
        self._socket = _listen(port)
        self.port: int = self._socket.getsockname()[1]
        config = uvicorn.Config(
            make(self.port),
            http=connection,  # called as a class would be
            ws="none",
            lifespan="off",
            loop="asyncio",
            log_config=None,
            log_level="critical",
            access_log=False,
            server_header=False,
            date_header=False,
            proxy_headers=False,
            timeout_keep_alive=IDLE_SECONDS,
            timeout_graceful_shutdown=GRACE_SECONDS,
            h11_max_incomplete_event_size=LARGEST_HEAD,
        )
        self._server = uvicorn.Server(config)

    def run(self) -> None:
        """Answer requests until Ctrl-C or `stop`."""
        try:
            self._server.run(sockets=[self._socket])
        except KeyboardInterrupt:  # heard and obeyed: everything has been closed
            pass
        finally:
            self._socket.close()

    def stop(self) -> None:
        """Let `run`, in another thread, come to its end."""
        self._server.should_exit = True


class Server(LocalServer):
    """A session, or folders of runs, on a port of this machine.

    Parameters
    ----------
    session : Session or Workspace
    port : int
        0 for any that is free.
    say : told of errors that are ours, in a sentence
    """

    def __init__(self, session: Session | Workspace, port: int = 0, *, say: Callable[[str], None] = notice) -> None:
        self.token = secrets.token_urlsafe(TOKEN_BYTES)
        super().__init__(lambda own: make_app(session, self.token, own, say), Connections(self.token).open, port)

    @property
    def address(self) -> str:
        """What to open in a browser; the token is in the fragment, which no browser sends anywhere."""
        return f"http://{HOME}:{self.port}/#token={self.token}"


def _listen(port: int) -> socket.socket:
    """Return a socket of this machine that listens; without delay, or every reply would wait some 40 ms."""
    # asyncio sets TCP_NODELAY on what it accepts only where the protocol is named
    found = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    found.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    if os.name == "posix":  # elsewhere it would let another program take the port
        found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        found.bind((HOME, port))
        found.listen()  # whoever comes before the server runs is served when it does
    except (OSError, OverflowError) as error:
        found.close()
        taken = getattr(error, "errno", None) == errno.EADDRINUSE
        why = "is taken" if taken else "cannot be used"
        raise LuthierError(f"the port {port} {why}. hint: leave `port` out, and a free one is found") from None
    found.set_inheritable(False)
    return found


def open_browser(address: str) -> bool:
    """Open an address in the user's browser; return False where there is none with windows."""
    if sys.platform.startswith("linux") and not (os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY")):
        return False  # a browser in the terminal would take it away from the user
    threading.Thread(target=webbrowser.open, args=(address,), daemon=True).start()
    return True
