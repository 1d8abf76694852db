"""The parser of every command: it names the option that was probably meant, and points to the help."""

from __future__ import annotations

import argparse
import re
import textwrap
from collections.abc import Collection, Iterable, Sequence
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


class UsageError(LuthierError):
    """An option that is missing, unknown or wrong; `told` is the sentence with the command's name."""

    def __init__(self, message: str, prog: str) -> None:
        super().__init__(message)
        self.told = f"{prog}: error: {message}"


class Parser(argparse.ArgumentParser):
    """Complains about an unknown option first, and in one line: what is missing may be what it represents.

    `first` names the options that its help shows, where these are not all.
    """

    def __init__(self, *args: Any, first: Collection[str] = (), **more: Any) -> None:
        self._first = frozenset(first)
        super().__init__(*args, **more)
        if first:
            self.add_argument("--help-all", action=_HelpAll, nargs=0, help="show all options")

    def format_help(self) -> str:
        """Return the help: of the options most people need, where these were named."""
        if not self._first:
            return super().format_help()
        shown = {*self._first, "--help-all"}
        hidden = [
            (action, action.help)
            for action in self._actions
            if not shown & {action.dest, *action.option_strings} and not _is_always_shown(self, action)
        ]
        for action, _ in hidden:
            action.help = argparse.SUPPRESS
        self.usage = f"{self.prog} {' '.join(filter(None, map(_in_usage, self._actions)))} [options]"
        self.epilog = f"'{self.prog} --help-all' shows all {len(self._actions)} options."
        try:
            return super().format_help()
        finally:
            self.usage = self.epilog = None
            for action, said in hidden:
                action.help = said

    def format_all(self) -> str:
        """Return the help with all options."""
        return super().format_help()

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
        raise UsageError(f"{message}{end} hint: '{self.prog} --help' lists the options", self.prog)


class HelpFormatter(argparse.RawDescriptionHelpFormatter):
    """Wraps the prose of a description to the width of the terminal; commands and indented lines stay as they are."""

    def _fill_text(self, text: str, width: int, indent: str) -> str:
        parts = text.strip().split("\n\n")
        kept = [re.search(r"^(?: |luthier )", part, re.MULTILINE) for part in parts]
        return "\n\n".join(
            part if as_is else textwrap.fill(part, width, initial_indent=indent, break_on_hyphens=False)
            for part, as_is in zip(parts, kept, strict=True)
        )


class _HelpAll(argparse.Action):
    """Prints the whole help, and ends."""

    def __call__(self, parser: Any, namespace: Any, values: Any, option_string: str | None = None) -> None:  # noqa: ARG002
        print(parser.format_all(), end="")  # noqa: T201
        parser.exit()


def _in_usage(action: argparse.Action) -> str:
    """Return how a command is given an argument, or an option that it needs; '' for all other options."""
    name = str(action.metavar or action.dest)
    if not action.option_strings:
        return f"[{name}]" if action.nargs == "?" else name
    return f"{action.option_strings[0]} {name}" if action.required else ""


def _is_always_shown(parser: argparse.ArgumentParser, action: argparse.Action) -> bool:
    """Return whether an option is of every command, or of the method that was named: who names it wants its options."""
    groups = (group for group in parser._action_groups if (group.title or "").startswith("options of "))
    return any(action in group._group_actions for group in groups)


def meant(name: str, known: Iterable[str]) -> str:
    """Return a question after the name most like a wrong one, or ''.

    >>> meant("--metod", ["--method", "--metric"]), meant("--xyz", ["--method"])
    ("; did you mean '--method'?", '')
    """
    import difflib

    close = difflib.get_close_matches(name, list(known), n=1)
    return f"; did you mean {close[0]!r}?" if close else ""
