"""Files by URL: fetched once per host, into a private folder of bounded size, under the names of their digests.

Nothing is fetched unless its scheme was named by the user. Whoever fetches holds a lock, writes to a temporary file and
gives it its name in one step, so that processes of a host fetch a file once and never see a part of it.
Where the folder is, and how large it may grow, is a matter of each host: environment variables say it.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import re
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from http.client import HTTPMessage, HTTPResponse
from pathlib import Path
from typing import IO, Any

from luthier.core.errors import InputError, LuthierError
from luthier.core.files.io import atomic_write, locked

# Files by http and https: from the host that was named and no other, by a server that keeps sending.

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
    try:
        response: HTTPResponse = opener.open(request, timeout=STALL_SECONDS)
    except urllib.error.HTTPError as error:
        error.close()  # the answer that says so is an open connection
        raise
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
            fp.close()
            raise InputError(
                expected=f"a file of {before.scheme}://{before.netloc}, which was named",
                found=f"a redirect to {after.scheme}://{after.netloc.rpartition('@')[2]}",
                path=_bare(before),
                hint="name the place that it leads to, if you trust it",
            )
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


FOLDER, GIGABYTES = "LUTHIER_CACHE", "LUTHIER_CACHE_GB"
USUAL_GIGABYTES = 50.0
CHUNK = 1 << 20
DIGEST = re.compile("[0-9a-f]{32}")
# by which servers tell whether a file is still the same
MARKS = ("ETag", "etag", "LastModified", "last_modified", "Last-Modified", "mtime", "created", "version_id", "md5Hash")


def scheme_of(path: str) -> str:
    """Return the scheme of a URL; '' of what is none.

    >>> scheme_of("s3://bucket/pool.arrow"), scheme_of("folder/pool.arrow"), scheme_of("C:/pool.arrow")
    ('s3', '', '')
    """
    found = re.match("([a-z][a-z0-9+.-]*)://", path)
    return found[1] if found else ""


def check_url(url: str, schemes: Sequence[str]) -> None:
    """Raise unless a URL is of a scheme that the user named, leads to one place, and holds no password."""
    scheme = scheme_of(url)
    if scheme not in schemes:
        raise LuthierError(
            f"{_shown(url)}: nothing is fetched by the scheme {scheme!r} unless you name it. "
            f"hint: `pool_scheme` {scheme}"
        )
    if "::" in url:
        raise LuthierError(f"{_shown(url)}: expected one place, found a chain of several ('::')")
    if "@" in url.split("://", 1)[1].split("/", 1)[0]:
        raise LuthierError(f"{_shown(url)}: expected a URL without a password. hint: fsspec has files for these")


def fetch(url: str, digest: str = "") -> Path:
    """Return where the file of a URL is on this host, fetched if need be.

    With the digest of its bytes, what was fetched by anybody on this host will do. Without, the server is asked
    whether what was fetched before is still the same.

    Raises
    ------
    InputError
        If it cannot be fetched, or is another.
    """
    folder = cache_folder()
    note = folder / f"{hashlib.blake2b(url.encode(), digest_size=16).hexdigest()}.url"
    with locked(note, wait=True), _telling(url):
        mark = "" if digest else _mark(url)
        known = digest or _noted(note, mark)
        place = (_kept(folder / known) if known else None) or _download(url, note.with_suffix(".new"), digest)
        if mark:
            with atomic_write(note) as temporary:
                temporary.write_text(json.dumps({"mark": mark, "digest": place.name}))
        return place


def cache_folder() -> Path:
    """Return the folder of fetched files, which is this user's alone; it is made if need be."""
    named = os.environ.get(FOLDER)
    base = Path(named) if named else Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "luthier"
    folder = base / "fetched"
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        about = folder.stat()
        if hasattr(os, "getuid") and about.st_uid != os.getuid():
            raise PermissionError(0, "it belongs to another user")
        folder.chmod(0o700)
        if not os.access(folder, os.R_OK | os.W_OK | os.X_OK):
            raise PermissionError(0, "no permission")
    except OSError as error:
        why = (error.strerror or str(error)).lower()
        raise LuthierError(
            f"{folder}: fetched files cannot be kept here: {why}. hint: name another folder in {FOLDER}"
        ) from None
    return folder


def most_bytes() -> int:
    """Return how much the folder may hold."""
    text = os.environ.get(GIGABYTES, "")
    try:
        amount = float(text) if text else USUAL_GIGABYTES
    except ValueError:
        amount = -1.0
    if not 0 < amount < 1e9:
        raise LuthierError(f"expected gigabytes in {GIGABYTES}, found {text!r}")
    return int(amount * 1e9)


def _kept(place: Path) -> Path | None:
    """Return a file that was fetched before, marked as used now."""
    try:
        os.utime(place)
    except FileNotFoundError:
        return None
    except OSError as error:
        why = (error.strerror or str(error)).lower()
        raise LuthierError(f"{place}: what was fetched cannot be used: {why}. hint: remove it") from None
    return place


def _noted(note: Path, mark: str) -> str:
    """Return the digest under which a URL was fetched, if it is still the same there."""
    try:
        told = json.loads(note.read_bytes())
    except (OSError, ValueError, RecursionError):
        return ""
    same = isinstance(told, dict) and mark and told.get("mark") == mark
    return str(told["digest"]) if same and DIGEST.fullmatch(str(told.get("digest"))) else ""


def _download(url: str, new: Path, digest: str) -> Path:
    """Fetch a file by way of `new`; return where it is, under the name of its digest."""
    state, limit, n = hashlib.blake2b(digest_size=16), most_bytes(), 0
    system, path = _system(url)
    size = system.info(path).get("size")
    _make_room(new.parent, size or 0, limit, url)
    with atomic_write(new) as temporary, open(temporary, "wb") as file, system.open(path, "rb") as source:
        while chunk := _read(source, url):
            n += len(chunk)
            if n > (limit if size is None else min(size, limit)):
                raise _too_large(url, n, limit) if n > limit else _more(url, size)
            state.update(chunk)
            file.write(chunk)
    found = state.hexdigest()
    if n != (n if size is None else size) or found != (digest or found):
        new.unlink()
        wanted = f"a file of the digest {digest}" if digest else f"{size:,} bytes"
        raise InputError(expected=wanted, found=f"{n:,} bytes of the digest {found}", path=_shown(url))
    new.chmod(0o600)
    return new.replace(new.with_name(found))


def _read(source: Any, url: str) -> bytes:
    """Return some more bytes; what goes wrong is the server's fault, not that of the file they go to."""
    with _telling(url):
        return bytes(source.read(CHUNK))


def _system(url: str) -> tuple[Any, str]:
    """Return what knows how to fetch by a URL's scheme, and the path that it is given."""
    if scheme_of(url) in SCHEMES:
        return WebFiles(), url
    try:
        import fsspec
    except ModuleNotFoundError:
        raise LuthierError(
            "expected the library fsspec for files by URL, found none. hint: pip install 'luthier[remote]'"
        ) from None
    try:
        system, path = fsspec.core.url_to_fs(url)
    except ImportError as error:
        raise LuthierError(f"{_shown(url)}: {error}. hint: fsspec needs that library for this scheme") from None
    return system, str(path)


def _mark(url: str) -> str:
    """Return by what the server tells this version of a file from others; '' if it tells by nothing but its size."""
    system, path = _system(url)
    about: Mapping[str, Any] = system.info(path)
    marks = {name: str(about[name]) for name in MARKS if about.get(name) is not None}
    return json.dumps({**marks, "size": about.get("size")}, sort_keys=True) if marks else ""


@contextlib.contextmanager
def _telling(url: str) -> Iterator[None]:
    """Turn whatever a library for some network raises into a sentence about the URL."""
    try:
        yield
    except (LuthierError, MemoryError):
        raise
    except Exception as error:
        why = (str(error) or type(error).__name__).splitlines()[0].replace(url, _shown(url))
        raise InputError(
            expected="a file that can be fetched", found=f"none ({type(error).__name__}: {why})", path=_shown(url)
        ) from None


def _shown(url: str) -> str:
    """Return a URL without what may be a password or a signature.

    >>> _shown("https://me:secret@example.org/pool.arrow?key=1")
    'https://…@example.org/pool.arrow?…'
    """
    scheme, rest = url.split("://", 1)
    host, slash, path = rest.partition("/")
    host = "…@" + host.rpartition("@")[2] if "@" in host else host
    path, mark, _ = path.partition("?")
    return f"{scheme}://{host}{slash}{path}" + ("?…" if mark else "")


def _make_room(folder: Path, size: int, limit: int, url: str) -> None:
    """Remove what was not used for longest, until so many bytes more are within the limit."""
    if size > limit:
        raise _too_large(url, size, limit)
    kept = [
        (path.stat().st_mtime, path.stat().st_size, path) for path in folder.iterdir() if DIGEST.fullmatch(path.name)
    ]
    total = sum(item[1] for item in kept)
    for _, n, path in sorted(kept):
        if total + size <= limit:
            return
        path.unlink(missing_ok=True)  # who has it mapped keeps it
        total -= n


def _more(url: str, size: int) -> InputError:
    return InputError(expected=f"{size:,} bytes, as the server said", found="more", path=_shown(url))


def _too_large(url: str, size: int, limit: int) -> InputError:
    return InputError(
        expected=f"at most {limit / 1e9:g} GB",
        found=f"{size / 1e9:.3g} GB",
        path=_shown(url),
        hint=f"{GIGABYTES} says how much is kept",
    )
