"""The server: one socket of this machine only, one page, until Ctrl-C."""

from __future__ import annotations

import errno
import os
import secrets
import socket
import sys
import threading
import webbrowser
from collections.abc import Callable

import uvicorn

from luthier.core.errors import LuthierError
from luthier.core.progress import notice
from luthier.explorer.app import make_app
from luthier.explorer.connections import Connections
from luthier.explorer.session import Session

HOME = "127.0.0.1"
LARGEST_HEAD = 16 * 1024
IDLE_SECONDS, GRACE_SECONDS = 30, 2
TOKEN_BYTES = 24


class Server:
    """A session on a port of this machine.

    Parameters
    ----------
    session : Session
    port : int
        0 for any that is free.
    say : told of errors that are ours, in a sentence
    """

    def __init__(self, session: Session, port: int = 0, *, say: Callable[[str], None] = notice) -> None:
        self._socket = _listen(port)
        self.port: int = self._socket.getsockname()[1]
        self.token = secrets.token_urlsafe(TOKEN_BYTES)
        config = uvicorn.Config(
            make_app(session, self.token, self.port, say),
            http=Connections(self.token).open,  # called as a class would be
            ws="none", lifespan="off", loop="asyncio", log_config=None, log_level="critical",
            access_log=False, server_header=False, date_header=False, proxy_headers=False,
            timeout_keep_alive=IDLE_SECONDS,
            timeout_graceful_shutdown=GRACE_SECONDS, h11_max_incomplete_event_size=LARGEST_HEAD,
        )  # fmt: skip
        self._server = uvicorn.Server(config)

    @property
    def address(self) -> str:
        """What to open in a browser; the token is in the fragment, which no browser sends anywhere."""
        return f"http://{HOME}:{self.port}/#token={self.token}"

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
