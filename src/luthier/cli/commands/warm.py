"""Compile kernels once, so that no later run has to wait.

  luthier warm
  luthier warm lists tuning
  luthier warm --jobs 2

All of them take some minutes of one core and about 1 GB of memory; a group of commands (as 'luthier --help' has them)
takes less. They are kept on disk: where all are there already, this takes seconds.
"""

from __future__ import annotations

import argparse

from luthier.cli.output import Output
from luthier.core.errors import LuthierError


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of `luthier warm`."""
    parser.add_argument(
        "groups",
        nargs="*",
        metavar="GROUP",
        help="lists, features, metrics, tuning, geometry or 'translation models' (default: everything)",
    )
    parser.add_argument("--jobs", type=int, default=1, metavar="N", help="processes that compile side by side")


def run(options: argparse.Namespace, output: Output) -> None:
    """Run kernels on small jobs; say how many, and what it took."""
    from luthier.jobs.warm import warm
    from luthier.report.console import table

    if options.jobs < 1:
        raise LuthierError(f"expected at least one job, found {options.jobs}")
    output.note(
        "compiling kernels: some minutes of one core and about 1 GB of memory, unless they are kept already; "
        "'luthier warm GROUP' compiles those of a group of commands"
        if not options.groups
        else f"compiling the kernels of: {', '.join(options.groups)}"
    )
    warmed = warm(options.groups, options.jobs)
    total, seconds = sum(warmed.counts.values()), warmed.compile_seconds
    output.emit(
        {"kernels": total, "files": warmed.counts, "compile_seconds": seconds},
        lambda: table(
            f"{total} kernels are ready; compiling took {seconds:.1f} CPU s",
            ("file", "kernels"),
            list(warmed.counts.items()),
        ),
    )
