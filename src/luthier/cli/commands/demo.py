"""Train, tune and test a translation system on a language pair made up here.

luthier demo -o demo-out
"""

from __future__ import annotations

import argparse

from luthier.cli.output import Output


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of `luthier demo`."""
    parser.add_argument("-o", "--output", default="demo-out", metavar="DIR", help="where to write (demo-out)")


def run(options: argparse.Namespace, output: Output) -> None:
    """Make the pair, train, show."""
    import shlex

    from luthier.jobs.demo import run_demo
    from luthier.report.console import as_text, stack
    from luthier.report.tables.training import demo_tables

    output.note(f"seed {options.seed}, {options.threads} threads")
    result = run_demo(options.output, seed=options.seed, threads=options.threads)
    lists, weights = result.to_explore
    command = f"luthier explore {shlex.quote(lists)} --weights {shlex.quote(weights)}"
    ending = f"drag the weights and see what they do:\n  {command}"
    output.emit({**result.as_dict(), "next": command}, lambda: stack(demo_tables(result), as_text(ending)))
