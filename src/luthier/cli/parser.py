"""The parser of every command: it names the option that was probably meant, and points to the help."""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterable, Sequence
from typing import Any, NoReturn

from luthier.core.errors import LuthierError, printable

# Options in messages: rooms below name them as Python does, the command line as they are typed.

_HINT = re.compile(r"hint: .*|^(?:luthier[\w ]*: error: )?(?:expected )?`[a-z_]+` .*?(?=, found |$)")
_OPTION = re.compile(r"`([a-z]+(?:_[a-z]+)*)`")


def spoken(message: str) -> str:
    """Return a message as it is shown: options as flags, and nothing that a terminal would act upon.

    Options stand in hints, and in what is expected where a message begins with one.

    >>> spoken("expected JSON, found `x`. hint: fix it, or let `skip_bad` do so")
    'expected JSON, found `x`. hint: fix it, or let --skip-bad do so'
    >>> spoken("expected `keep` of at least 1, found `x`")
    'expected --keep of at least 1, found `x`'
    """
    return printable(_HINT.sub(lambda hint: _OPTION.sub(_flag, hint[0]), message))


def _flag(option: re.Match[str]) -> str:
    return "--" + option[1].replace("_", "-")


class Parser(argparse.ArgumentParser):
    """Complains about an unknown option first, and in one line: what is missing may be what it represents."""

    def parse_args(self, args: Sequence[str] | None = None, namespace: Any = None) -> Any:  # type: ignore[override]
        """Return the options of a command; a wrong one ends the program with a sentence."""
        arguments = list(args or ())
        known = self._option_string_actions
        for argument in arguments[: arguments.index("--") if "--" in arguments else None]:
            name = argument.partition("=")[0]
            if name.startswith("--") and name not in known:
                self.error(f"there is no option {name}{meant(name, known)}")
        return super().parse_args(arguments, namespace)

    def error(self, message: str) -> NoReturn:
        """End with a sentence instead of a page of options."""
        end = "" if message.endswith("?") else "."
        hint = f"hint: '{self.prog} --help' lists the options"
        self.exit(LuthierError.exit_code, spoken(f"{self.prog}: error: {message}{end} {hint}") + "\n")


def meant(name: str, known: Iterable[str]) -> str:
    """Return a question after the name most like a wrong one, or ''.

    >>> meant("--metod", ["--method", "--metric"]), meant("--xyz", ["--method"])
    ("; did you mean '--method'?", '')
    """
    import difflib

    close = difflib.get_close_matches(name, list(known), n=1)
    return f"; did you mean {close[0]!r}?" if close else ""
