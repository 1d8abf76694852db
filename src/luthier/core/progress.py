"""How work speaks while it goes on: silent unless a door (the command line) installs a voice."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from contextvars import ContextVar
from typing import Protocol


class Advance(Protocol):
    """Says that so much more is done, and what is best so far, where there is such a thing."""

    def __call__(self, amount: int, note: str = "", /) -> None:
        """Show it."""


Display = Callable[[str, int | None], AbstractContextManager[Advance]]


def _silence(amount: int, note: str = "", /) -> None:
    """Show nothing."""


def _no_display(label: str, total: int | None) -> AbstractContextManager[Advance]:  # noqa: ARG001
    return nullcontext(_silence)


_display: ContextVar[Display] = ContextVar("luthier_progress", default=_no_display)


Say = Callable[[str], None]


def _say_nothing(message: str) -> None:
    """Say nothing."""


_say: ContextVar[Say] = ContextVar("luthier_notice", default=_say_nothing)


@contextmanager
def speaking(display: Display, say: Say) -> Iterator[None]:
    """Use `display` for all progress, and `say` for all notices, that come from inside the block."""
    tokens = _display.set(display), _say.set(say)
    try:
        yield
    finally:
        _display.reset(tokens[0])
        _say.reset(tokens[1])


def without_notices() -> AbstractContextManager[None]:
    """Return a context in which work shows its progress and says nothing: many runs of one kind say it once."""
    return speaking(_display.get(), _say_nothing)


def notice(message: str) -> None:
    """Tell the user something that is neither a result nor a warning."""
    _say.get()(message)


def progress(label: str, total: int | None = None) -> AbstractContextManager[Advance]:
    """Return a context manager that yields `advance(amount)`; `total` None means unknown."""
    return _display.get()(label, total)
