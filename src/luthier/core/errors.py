"""Everything that can go wrong for a reason the user can mend, in one form of sentence."""

from __future__ import annotations

from typing import Any


class LuthierError(Exception):
    """Root of all errors raised on purpose; the command line prints it and exits with `exit_code`."""

    exit_code = 2


class LuthierWarning(UserWarning):
    """Something was done that the user should know about."""


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
            expected, found, path, line, hint, kind,
        )  # fmt: skip
        super().__init__(str(self))

    def __reduce__(self) -> tuple[object, ...]:
        """Survive a trip between processes, although all arguments are keywords."""
        parts = ("expected", "found", "path", "line", "hint", "kind")
        return (_rebuild, (type(self), {part: getattr(self, part) for part in parts}))

    def __str__(self) -> str:
        where = self.path + (f":{self.line}" if self.line is not None else "")
        text = f"expected {self.expected}, found {self.found}."
        return (f"{where}: " if where else "") + text + (f" hint: {self.hint}" if self.hint else "")


def _rebuild(kind_of_error: type[InputError], arguments: dict[str, Any]) -> InputError:
    return kind_of_error(**arguments)


def excerpt(raw: bytes, limit: int = 40) -> str:
    """Return `raw` as a short quoted text that is safe to print.

    >>> excerpt(b"abc")
    "'abc'"
    """
    text = raw[: 4 * (limit + 1)].decode("utf-8", "backslashreplace")  # no character has more bytes
    return repr(text[:limit] + "…" if len(text) > limit else text)
