"""The files of the page, by their addresses: a fixed table, nothing else is ever read by request."""

from __future__ import annotations

from collections.abc import Mapping
from importlib.resources import files

KINDS = {"html": "text/html; charset=utf-8", "css": "text/css; charset=utf-8", "js": "text/javascript; charset=utf-8"}
# In the order in which they build upon one another.
SCRIPTS = (
    "numbers.js", "elements.js", "colors.js", "server.js", "state.js", "diff.js", "canvas.js", "export.js",
    "weights.js", "line.js", "surface.js", "changes.js", "fan.js", "sentence.js", "compare.js", "traces.js",
    "curves.js", "main.js",
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
