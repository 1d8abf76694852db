"""Everything that can go wrong for a reason the user can fix, in one form of sentence."""

from __future__ import annotations

import os
import re
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any


class LuthierError(Exception):
    """Root of all errors raised on purpose; the command line prints it and exits with `exit_code`."""

    exit_code = 2


class LuthierWarning(UserWarning):
    """Something was done that the user should know about."""


_unsaid: ContextVar[str | None] = ContextVar("luthier_unsaid", default=None)


@contextmanager
def unwarned(about: str = "") -> Iterator[None]:
    """Let this thread leave unsaid, in the block, what `warn` says and what has `about`, an expression, in it.

    Filters of warnings are the host's, and those of all its threads; they stay as they are.
    """
    token = _unsaid.set(about)
    try:
        yield
    finally:
        _unsaid.reset(token)


def warn(message: str, *, stacklevel: int = 1) -> None:
    """Warn by a `LuthierWarning`, for code whose callers may be `unwarned`."""
    about = _unsaid.get()
    if about is None or not re.search(about, message):
        warnings.warn(message, LuthierWarning, stacklevel=stacklevel + 1)


class Interrupted(KeyboardInterrupt):
    """Ctrl-C, pressed during a long search from Python; `result` has the best so far."""

    def __init__(self, result: Any) -> None:
        super().__init__("the attribute 'result' has the best so far")
        self.result = result


class InputError(LuthierError):
    """An input that cannot be used: *what was expected, what was found, where, what to do*.

    Parameters
    ----------
    expected, found
        Two phrases that complete "expected …, found …".
    path, line
        Where; `line` counts from 1.
    hint
        What to do about it, where that is known.
    kind
        Short name of the class of fault, for counting.
    """

    def __init__(
        self,
        *,
        expected: str,
        found: str,
        path: str = "",
        line: int | None = None,
        hint: str = "",
        kind: str = "",
    ) -> None:
        self.expected, self.found, self.path, self.line, self.hint, self.kind = (
            expected,
            found,
            path,
            line,
            hint,
            kind,
        )
        super().__init__(str(self))

    def __reduce__(self) -> tuple[object, ...]:
        """Survive a trip between processes, although all arguments are keywords."""
        parts = ("expected", "found", "path", "line", "hint", "kind")
        return (_rebuild, (type(self), {part: getattr(self, part) for part in parts}))

    def __str__(self) -> str:
        where = self.path + (f":{self.line}" if self.line is not None else "")
        text = f"expected {_shortened(self.expected)}, found {_shortened(self.found)}."
        return (f"{where}: " if where else "") + text + (f" hint: {self.hint}" if self.hint else "")


LONGEST_PHRASE = 800


def _shortened(phrase: str) -> str:
    """Return a phrase without its middle, if it is long: names and values in it may be as long as a file."""
    if len(phrase) <= LONGEST_PHRASE:
        return phrase
    return f"{phrase[: LONGEST_PHRASE // 2]} … {phrase[-LONGEST_PHRASE // 4 :]}"


def _rebuild(kind_of_error: type[InputError], arguments: dict[str, Any]) -> InputError:
    return kind_of_error(**arguments)


# What a terminal would act upon instead of showing it: control characters (tabs and line feeds do no harm), and
# marks that turn the direction of writing.
_ACTING = [*range(0x20), 0x7F, *range(0x80, 0xA0), 0x2028, 0x2029, *range(0x202A, 0x202F), *range(0x2066, 0x206A)]
ESCAPES = {code: f"\\x{code:02x}" if code < 256 else f"\\u{code:04x}" for code in _ACTING if chr(code) not in "\t\n"}


def printable(text: str) -> str:
    """Return a text that is safe to show on a terminal, whatever names it holds.

    >>> printable("a\\x1b[2Jb")
    'a\\\\x1b[2Jb'
    """
    return text.translate(ESCAPES)


def describe_os_error(error: OSError) -> str:
    """Return what went wrong with which file, in one sentence."""
    name = error.filename if isinstance(error.filename, str) else os.fsdecode(error.filename or b"")
    return (f"{name}: " if name else "") + (error.strerror or str(error) or type(error).__name__).lower()


def excerpt(raw: bytes, limit: int = 40) -> str:
    """Return `raw` as a short quoted text that is safe to print.

    >>> excerpt(b"abc")
    "'abc'"
    """
    text = raw[: 4 * (limit + 1)].decode("utf-8", "backslashreplace")  # no character has more bytes
    return repr(text[:limit] + "…" if len(text) > limit else text)
