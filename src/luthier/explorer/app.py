"""From addresses to answers: the files of the page by a fixed table, and a function for each question."""

from __future__ import annotations

import threading
from collections.abc import Awaitable, Callable, Mapping
from importlib import import_module
from importlib.resources import files
from typing import Any

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from luthier.core.errors import LuthierError, printable
from luthier.core.progress import notice
from luthier.explorer.middleware import Middleware
from luthier.explorer.sessions.request import LARGEST_NUMBER, CheckedRequest
from luthier.explorer.sessions.responses import Reply
from luthier.explorer.sessions.session import Session, Superseded
from luthier.explorer.sessions.workspace import Workspace

# The files of the page, by their addresses: a fixed table, nothing else is ever read by request.

KINDS = {"html": "text/html; charset=utf-8", "css": "text/css; charset=utf-8", "js": "text/javascript; charset=utf-8"}
# In the order in which they build upon one another.
SCRIPTS = (
    "numbers.js", "elements.js", "words.js", "colors.js", "server.js", "state.js", "diff.js", "canvas.js", "export.js",
    "weights.js", "line.js", "surface.js", "changes.js", "fan.js", "sentence.js", "compare.js", "traces.js",
    "curves.js", "tradeoff.js", "runs.js", "main.js",
)  # fmt: skip
STYLE, PAGE = "style.css", "index.html"


def page_text(name: str) -> str:
    """Return a file of the page."""
    return (files("luthier.explorer") / "page" / name).read_text("utf-8")


def page_files() -> Mapping[str, tuple[bytes, str]]:
    """Return the bytes and the kind of every file, by its address."""
    folder = files("luthier.explorer") / "page"
    found = {f"/{name}": ((folder / name).read_bytes(), KINDS[name.rpartition(".")[2]]) for name in (*SCRIPTS, STYLE)}
    found["/"] = (folder / PAGE).read_bytes(), KINDS["html"]
    found["/favicon.ico"] = b"", "image/x-icon"
    return found


# Questions, by the function of `endpoints/` that answers: loaded when first asked, so that the page need not wait for
# all that it may ask.
SESSION_ENDPOINTS: Mapping[str, str] = {
    "about": "about.about", "select": "selection.select", "line": "line.line", "lines": "line.lines",
    "surface": "surface.surface", "cell": "surface.cell", "sentence": "sentence.sentence", "fan": "sentence.fan",
    "compare": "comparison.comparison", "trace": "traces.trace", "state": "traces.state", "curves": "traces.curves",
    "unseen": "unseen.unseen", "promises": "unseen.promises", "intervals": "unseen.intervals",
    "region": "unseen.region", "tradeoff": "tradeoff.tradeoff", "agreement": "agreement.agreement",
}  # fmt: skip
FOLDER_ENDPOINTS: Mapping[str, str] = {
    "runs": "runs.runs", "beside": "runs.beside", "open": "runs.open_runs", "study": "runs.study",
}  # fmt: skip
Say = Callable[[str], None]


def answer(place: Session | Workspace, name: str, raw: bytes) -> Reply:
    """Return the answer to a question; the reply carries the number of the request."""
    asked = CheckedRequest(raw)
    number = asked.whole("number", low=0, high=LARGEST_NUMBER, default=0)
    workspace = place if isinstance(place, Workspace) else Workspace(place)
    of: Session | Workspace = workspace
    if name in SESSION_ENDPOINTS:
        of = workspace.session(asked.whole("session", low=0, high=LARGEST_NUMBER, default=0))
    reply = _endpoint(name)(of, asked)
    return Reply({**reply.values, "number": number}, reply.arrays)


def _endpoint(name: str) -> Callable[[Any, CheckedRequest], Reply]:
    file, _, function = (SESSION_ENDPOINTS.get(name) or FOLDER_ENDPOINTS[name]).partition(".")
    found: Callable[[Any, CheckedRequest], Reply] = getattr(
        import_module(f"luthier.explorer.endpoints.{file}"), function
    )
    return found


def make_app(place: Session | Workspace, token: str, port: int, say: Say = notice) -> Middleware:
    """Return the application of a session, or of folders; `say` is told, in a sentence, of errors that are ours."""
    workspace = place if isinstance(place, Workspace) else Workspace(place)

    def first(raw: bytes) -> Reply:  # noqa: ARG001
        if workspace.folders is not None:
            return Reply({"folders": True})
        session = workspace.session(0)
        if workspace.opening:
            pool = session.problem.pool
            told = {"title": session.title, "sentences": pool.n_sentences, "hypotheses": pool.n_hypotheses}
            return Reply({"opening": True, **told})
        return answer(workspace, "about", b"{}")

    routes = [Route("/api/session", _asking(first, say), methods=["GET"])]
    for name in (*SESSION_ENDPOINTS, *FOLDER_ENDPOINTS):
        routes.append(Route(f"/api/{name}", _asking(_bound(workspace, name), say), methods=["POST"]))
    for address, (body, kind) in page_files().items():
        routes.append(Route(address, _file(body, kind), methods=["GET"]))
    app = Starlette(routes=routes, exception_handlers={404: _lost, 405: _lost, Exception: _lost})
    app.router.redirect_slashes = False
    return Middleware(app, token, port)


def _bound(workspace: Workspace, name: str) -> Callable[[bytes], Reply]:
    return lambda raw: answer(workspace, name, raw)


def _asking(work: Callable[[bytes], Reply], say: Say) -> Callable[[Request], Awaitable[Response]]:
    """Return an endpoint that works in a thread, and whose every failure is one sentence."""

    def attempt(raw: bytes) -> Response:
        try:
            reply = work(raw)
            return Response(reply.body(), media_type=reply.media_type)
        except Superseded:  # no error: nobody waits for it
            return Response(Reply({"superseded": True}).body(), media_type="application/json")
        except LuthierError as error:
            return _failed(400, printable(str(error)))
        except MemoryError:
            return _failed(507, "not enough memory for this")
        except Exception as error:  # a fault of ours must not end the server
            told = f"{type(error).__name__}: {error}"
            say(f"a request failed: {told}; this is a fault of luthier")
            return _failed(500, f"a fault of luthier: {told}")

    async def endpoint(request: Request) -> Response:
        return await run_in_threadpool(attempt, await request.body())

    return endpoint


def _file(body: bytes, kind: str) -> Callable[[Request], Awaitable[Response]]:
    async def endpoint(request: Request) -> Response:  # noqa: ARG001
        return Response(body, media_type=kind)

    return endpoint


async def _lost(request: Request, error: Exception) -> Response:  # noqa: ARG001
    status = getattr(error, "status_code", 500)
    return _failed(status, "there is nothing at this address")


def _failed(status: int, reason: str) -> Response:
    return Response(Reply({"error": reason}).body(), status, media_type="application/json")


def open_in_background(session: Session, say: Say) -> Workspace:
    """Return a workspace that answers that it is being opened until what the page asks first has been computed."""
    workspace = Workspace(session)
    workspace.opening = True

    def work() -> None:
        try:
            warm(session)
        except LuthierError as error:
            say(printable(str(error)))
        finally:
            workspace.opening = False

    threading.Thread(target=work, daemon=True).start()
    return workspace


def warm(session: Session) -> None:
    """Compute what the page asks first, so that its first requests find compiled kernels."""
    told = answer(session, "about", b"{}").values
    answer(session, "select", b"{}")
    usable = [d for d, feature in enumerate(told["features"]) if not feature["unused"]]
    if usable:
        answer(session, "line", f'{{"axis": {usable[0]}}}'.encode())
