"""How long work shows that it goes on: silent unless a door (the command line) installs a display."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from contextvars import ContextVar

Advance = Callable[[int], None]
Display = Callable[[str, int | None], AbstractContextManager[Advance]]


def _silence(amount: int) -> None:
    """Show nothing."""


def _no_display(label: str, total: int | None) -> AbstractContextManager[Advance]:  # noqa: ARG001
    return nullcontext(_silence)


_display: ContextVar[Display] = ContextVar("luthier_progress", default=_no_display)


@contextmanager
def showing(display: Display) -> Iterator[None]:
    """Use `display` for all progress reported inside the block."""
    token = _display.set(display)
    try:
        yield
    finally:
        _display.reset(token)


def progress(label: str, total: int | None = None) -> AbstractContextManager[Advance]:
    """Return a context manager that yields `advance(amount)`; `total` None means unknown."""
    return _display.get()(label, total)
