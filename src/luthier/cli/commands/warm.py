"""Compile all kernels once, so that no later run has to wait."""

from __future__ import annotations

import argparse

from luthier.cli.output import Output

GROUP = "this program"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """`luthier warm` has no options of its own."""


def run(options: argparse.Namespace, output: Output) -> None:  # noqa: ARG001
    """Run every kernel on a small job."""
    from luthier.pipelines.warm import warm
    from luthier.report.console import table

    counts = warm()
    total = sum(counts.values())
    output.emit(
        {"kernels": total, "files": counts},
        lambda: table(f"{total} kernels are compiled", ("file", "kernels"), list(counts.items())),
    )
