"""What the command line says, and where: results on standard output, all else on standard error."""

from __future__ import annotations

import json
import os
import sys
import time
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from types import TracebackType
from typing import TYPE_CHECKING, Any

from luthier.cli.parser import spoken
from luthier.core.errors import ESCAPES, LuthierWarning, printable
from luthier.core.progress import Advance, speaking

if TYPE_CHECKING:
    from rich.progress import Progress


SCHEMA = 1  # of what --json prints: members may be added; none is renamed, or changes its meaning, under one number
FIRST_LINE_SECONDS = 10.0
JSON_ESCAPES = {code: f"\\u{code:04x}" for code in ESCAPES}  # JSON's own way to write the same text


class Output:
    """The voice of one command; a context manager, inside which notices and warnings are heard."""

    def __init__(self, *, quiet: bool, as_json: bool, verbose: bool = False, command: str = "") -> None:
        self.quiet, self.as_json, self.verbose, self.command = quiet, as_json, verbose, command
        self.bars = not quiet and sys.stderr.isatty() and os.environ.get("TERM") != "dumb"
        self._progress: Progress | None = None
        self._inside = ExitStack()
        self._show_before = warnings.showwarning
        self._warned: set[str] = set()

    def __enter__(self) -> Output:
        self._inside.enter_context(warnings.catch_warnings())
        self._show_before = warnings.showwarning
        warnings.simplefilter("always", LuthierWarning)
        warnings.showwarning = self._show_warning
        self._inside.enter_context(speaking(self._display, self.note))
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._inside.__exit__(kind, error, trace)

    def note(self, message: str) -> None:
        """Say something that is neither result, warning nor error."""
        if not self.quiet:
            _tell(message)

    def emit(self, data: Mapping[str, Any], render: Callable[[], Any]) -> None:
        """Print a result: `data` as JSON if asked for, else what `render` returns (a table, a text)."""
        if self.as_json:
            with naming_output():
                print(as_json({**({"command": self.command} if self.command else {}), **data}))  # noqa: T201
            return
        from luthier.report.console import show

        shown = render()
        with naming_output():
            show(shown, verbose=self.verbose)

    def _show_warning(self, message: Any, category: type[Warning], *rest: Any, **more: Any) -> None:
        if issubclass(category, LuthierWarning):
            if str(message) not in self._warned:  # several pools or metrics may say the same
                _tell(f"luthier: warning: {message}")
            self._warned.add(str(message))
        else:
            self._show_before(message, category, *rest, **more)

    @contextmanager
    def _display(self, label: str, total: int | None) -> Iterator[Advance]:
        """Show one more line of progress; work inside work adds lines to the same display."""
        if not self.bars:
            yield _Lines(label, total, self.note)
            return
        if self._progress is None:
            from rich.console import Console
            from rich.progress import (
                BarColumn,
                MofNCompleteColumn,
                Progress,
                TextColumn,
                TimeElapsedColumn,
                TimeRemainingColumn,
            )

            columns = (
                TextColumn("{task.description}", markup=False),
                BarColumn(),
                MofNCompleteColumn(),
                TimeElapsedColumn(),
                TimeRemainingColumn(),
                TextColumn("{task.fields[note]}", markup=False),
            )
            self._progress = Progress(*columns, console=Console(stderr=True), transient=True)
            self._progress.start()
        progress, outermost = self._progress, not self._progress.tasks
        task = progress.add_task(printable(label), total=total, note="")
        try:
            yield lambda amount, note="": progress.update(task, advance=amount, **({"note": note} if note else {}))
        finally:
            progress.remove_task(task)
            if outermost:
                progress.stop()
                self._progress = None


class _Lines:
    """Progress where there is no terminal: a line after ten seconds, and whenever the time has doubled."""

    def __init__(self, label: str, total: int | None, say: Callable[[str], None]) -> None:
        self._label, self._of, self._say = label, "" if total is None else f" of {total:,}", say
        self._done, self._begin, self._next = 0, time.monotonic(), FIRST_LINE_SECONDS

    def __call__(self, amount: int, note: str = "", /) -> None:
        self._done += amount
        took = time.monotonic() - self._begin
        if took > self._next:
            self._next = 2 * took
            self._say(f"{self._label}: {self._done:,}{self._of} after {took:.0f} s{note and f', {note}'}")


def as_json(data: Mapping[str, Any]) -> str:
    """Return an answer as JSON, with the version of the program and of the schema."""
    from luthier import __version__

    whole = {"luthier": __version__, "schema": SCHEMA, **data}
    return json.dumps(whole, ensure_ascii=False, indent=1, allow_nan=False).translate(JSON_ESCAPES)


@contextmanager
def naming_output() -> Iterator[None]:
    """Say that it is standard output that cannot be written, where the system does not."""
    try:
        yield
    except BrokenPipeError:
        raise
    except OSError as error:
        raise OSError(error.errno, error.strerror, "<standard output>") from None


def _tell(message: str) -> None:
    """Say something on standard error; where that cannot be written, the job goes on."""
    with suppress(OSError):
        print(spoken(message), file=sys.stderr)  # noqa: T201
