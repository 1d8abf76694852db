"""Files by http: redirects within the named host only, servers that stall, sizes that lie."""

import functools
import http.server
import threading
import time

import pytest

from luthier.core.errors import InputError
from luthier.core.files import remote as web
from luthier.core.files.remote import fetch


class Handler(http.server.BaseHTTPRequestHandler):
    """Answers by what `replies` has for a path: (code, headers, body), or a function that answers."""

    def answer(self):
        self.asked.append((self.command, self.path))
        reply = self.replies.get(self.path, (404, {}, b""))
        if callable(reply):
            reply(self)
            return
        code, headers, body = reply
        self.send_response(code)
        for name, value in {"Content-Length": str(len(body)), **headers}.items():
            self.send_header(name, value)
        self.end_headers()
        if self.command == "GET":
            self.wfile.write(body)

    do_GET = do_HEAD = answer

    def log_message(self, *words):
        pass


@pytest.fixture
def served(tmp_path, monkeypatch):
    """Yield the port of a server of this machine, what it replies, and what it was asked for."""
    monkeypatch.setenv("LUTHIER_CACHE", str(tmp_path / "cache"))
    for name in ("http_proxy", "https_proxy", "all_proxy", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)
    kind = type("Own", (Handler,), {"asked": [], "replies": {"/pool": (200, {}, b"some bytes")}})
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(kind)) as server:
        server.daemon_threads = True
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield server.server_port, kind.replies, kind.asked
        server.shutdown()
        thread.join()


def moved(to):
    return (302, {"Location": to}, b"")


def test_a_redirect_within_the_named_host_is_followed(served):
    port, replies, asked = served
    replies["/old"] = moved("/older")
    replies["/older"] = moved(f"http://127.0.0.1:{port}/pool")
    assert fetch(f"http://127.0.0.1:{port}/old").read_bytes() == b"some bytes"
    assert asked.count(("GET", "/pool")) == 1


@pytest.mark.parametrize(
    ("to", "shown"),
    [
        ("http://localhost:{port}/pool", "http://localhost:{port}"),
        ("http://127.0.0.1:1/pool", "http://127.0.0.1:1"),
        ("https://127.0.0.1:{port}/pool", "https://127.0.0.1:{port}"),
        ("http://me:secret@127.0.0.1:{port}/pool", "http://127.0.0.1:{port}"),
    ],
)
def test_a_redirect_to_another_place_is_refused(served, to, shown):
    port, replies, asked = served
    replies["/old"] = moved(to.format(port=port))
    told = rf"/old: expected a file of http://127.0.0.1:{port}, which was named, found a redirect to {{}}\. hint: name"
    with pytest.raises(InputError, match=told.format(shown.format(port=port))):
        fetch(f"http://127.0.0.1:{port}/old")
    assert all(path == "/old" for _, path in asked)


def test_a_redirect_to_a_file_of_this_machine_is_refused(served):
    port, replies, _ = served
    replies["/old"] = moved("file:///etc/passwd")
    with pytest.raises(InputError, match="expected a file"):
        fetch(f"http://127.0.0.1:{port}/old")


def test_https_never_becomes_http():
    split = web.urllib.parse.urlsplit
    for before, after, fine in (
        ("https://a/x", "http://a/x", False), ("http://a/x", "https://a/x", True), ("http://a/x", "https://b/x", False),
        ("http://a:8000/x", "https://a/x", False), ("https://a/x", "https://a:443/y", True),
        ("https://a/x", "https://a:444/y", False), ("https://a/x", "https://A/y", True),
        ("https://a/x", "ftp://a/y", False),
    ):  # fmt: skip
        assert web._same(split(before), split(after)) is fine, (before, after)


def test_a_circle_of_redirects_ends(served):
    port, replies, asked = served
    replies["/old"] = moved("/old")
    with pytest.raises(InputError, match="expected a file that can be fetched, found none"):
        fetch(f"http://127.0.0.1:{port}/old")
    assert len(asked) <= 2 * (web._SamePlace.max_redirections + 1)


def test_a_server_that_stalls_is_given_up(served, monkeypatch):
    port, replies, _ = served
    released = threading.Event()

    def stall(handler):
        handler.send_response(200)
        handler.send_header("Content-Length", "10")
        handler.end_headers()
        if handler.command == "GET":
            handler.wfile.write(b"four")
            handler.wfile.flush()
            released.wait(600)

    replies["/stalls"] = stall
    monkeypatch.setattr(web, "STALL_SECONDS", 1.0)
    with pytest.raises(InputError, match="TimeoutError"):
        fetch(f"http://127.0.0.1:{port}/stalls")
    released.set()


def test_a_server_that_trickles_is_given_up(served, monkeypatch):
    port, replies, _ = served

    def trickle(handler):
        handler.send_response(200)
        handler.send_header("Content-Length", "1000000")
        handler.end_headers()
        try:
            for _ in range(600 if handler.command == "GET" else 0):
                handler.wfile.write(b"x")
                handler.wfile.flush()
                time.sleep(0.05)
        except OSError:  # the other side has had enough
            pass

    replies["/trickles"] = trickle
    monkeypatch.setattr(web, "STALL_SECONDS", 2.0)
    with pytest.raises(InputError, match=r"TimeoutError: \d+ bytes in \d+ s"):
        fetch(f"http://127.0.0.1:{port}/trickles")


def test_bytes_are_counted_as_they_come(served, tmp_path, monkeypatch):
    port, replies, _ = served

    def endless(handler):
        handler.send_response(200)
        if handler.command == "HEAD":
            handler.send_header("Content-Length", "4")
        handler.end_headers()
        try:
            while handler.command == "GET":
                handler.wfile.write(bytes(1 << 16))
        except OSError:
            pass

    replies["/endless"] = endless
    with pytest.raises(InputError, match="expected 4 bytes, as the server said, found more"):
        fetch(f"http://127.0.0.1:{port}/endless")
    replies["/nameless"] = lambda handler: endless(handler) if handler.command == "GET" else handler.send_error(405)
    monkeypatch.setenv("LUTHIER_CACHE_GB", "0.001")
    with pytest.raises(InputError, match=r"expected at most 0.001 GB, found 0.00\d+ GB"):
        fetch(f"http://127.0.0.1:{port}/nameless")
    replies["/short"] = (200, {"Content-Length": "99"}, b"four")
    with pytest.raises(InputError, match=r"expected 99 bytes, found 4 bytes|IncompleteRead"):
        fetch(f"http://127.0.0.1:{port}/short")
    assert list((tmp_path / "cache" / "fetched").iterdir()) == []
