"""Files by http and https: from the host that was named and no other, by a server that keeps sending."""

from __future__ import annotations

import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from http.client import HTTPMessage, HTTPResponse
from typing import IO, Any

from luthier.core.errors import InputError

SCHEMES = ("http", "https")
PORTS = {"http": 80, "https": 443}
STALL_SECONDS = 60.0  # without a byte
LEAST_RATE = 1000.0  # bytes a second, on average, once so long has passed
NO_HEAD = (403, 405, 501)  # servers that answer GET only


class WebFiles:
    """Answers as a file system of fsspec does: `info` and `open`."""

    def info(self, url: str) -> dict[str, Any]:
        """Return the size of a file, where the server says it, and by what it tells this version from others."""
        try:
            with _answer(url, "HEAD") as response:
                return _about(response)
        except urllib.error.HTTPError as error:
            if error.code not in NO_HEAD:
                raise
        with _answer(url, "GET") as response:
            return _about(response)

    @contextmanager
    def open(self, url: str, mode: str) -> Iterator[_Body]:  # noqa: ARG002 - fsspec's form
        """Yield the bytes of a file as they come."""
        with _answer(url, "GET") as response:
            yield _Body(response, url)


class _Body:
    def __init__(self, response: HTTPResponse, url: str) -> None:
        self._response, self._url = response, url
        self._began, self._n = time.monotonic(), 0

    def read(self, size: int) -> bytes:
        """Return some more bytes, at most `size`; none at the end."""
        data = self._response.read1(size)
        self._n += len(data)
        took = time.monotonic() - self._began
        if data and took > STALL_SECONDS and self._n < LEAST_RATE * took:
            raise TimeoutError(f"{self._n:,} bytes in {took:.0f} s")
        return data


def _about(response: HTTPResponse) -> dict[str, Any]:
    size = response.headers.get("Content-Length", "")
    marks = {name: response.headers[name] for name in ("ETag", "Last-Modified") if response.headers[name]}
    return {**marks, "size": int(size) if size.isascii() and size.isdigit() else None}


def _answer(url: str, method: str) -> HTTPResponse:
    opener = urllib.request.build_opener(_SamePlace())
    request = urllib.request.Request(url, method=method, headers={"Accept-Encoding": "identity"})
    response: HTTPResponse = opener.open(request, timeout=STALL_SECONDS)
    return response


class _SamePlace(urllib.request.HTTPRedirectHandler):
    """Follows a redirect within the host that was named, by its scheme or from http to https."""

    max_redirections = 5

    def redirect_request(
        self, req: urllib.request.Request, fp: IO[bytes], code: int, msg: str, headers: HTTPMessage, newurl: str
    ) -> urllib.request.Request | None:
        """Return the next request, or raise."""
        before, after = (urllib.parse.urlsplit(url) for url in (req.full_url, newurl))
        if not _same(before, after):
            raise InputError(
                expected=f"a file of {before.scheme}://{before.netloc}, which was named",
                found=f"a redirect to {after.scheme}://{after.netloc.rpartition('@')[2]}", path=_bare(before),
                hint="name the place that it leads to, if you trust it",
            )  # fmt: skip
        following = super().redirect_request(req, fp, code, msg, headers, newurl)
        if following is not None:
            following.method = req.get_method()  # else HEAD becomes GET
        return following


def _same(before: urllib.parse.SplitResult, after: urllib.parse.SplitResult) -> bool:
    ports = [part.port or PORTS.get(part.scheme) for part in (before, after)]
    if before.hostname != after.hostname or after.username is not None:
        return False
    if before.scheme == after.scheme:
        return ports[0] == ports[1]
    return (before.scheme, after.scheme) == ("http", "https") and ports == [PORTS["http"], PORTS["https"]]


def _bare(parts: urllib.parse.SplitResult) -> str:
    return f"{parts.scheme}://{parts.netloc}{parts.path}" + ("?…" if parts.query else "")
