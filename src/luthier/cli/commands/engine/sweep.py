"""Choose bits, β and other constants on held-out lists.

  luthier engine sweep choice.toml
  luthier engine sweep choice.toml --jobs 2 -o results

The file names two pools that carry derivations, the features to cut, a tuner and its parameters. A parameter that is
a list is an axis. All combinations are tried (order = "grid"), or one axis after another (order = "axes"). Nothing is
decoded. Each point is a line in points.jsonl; started again, the command resumes. The weights and the bins of the
best point are written beside it.
"""

from __future__ import annotations

import argparse

from luthier.cli.output import Output


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of `luthier engine sweep`."""
    parser.add_argument("config", metavar="FILE", help="what to choose, in TOML")
    parser.add_argument("-o", "--output", metavar="DIR", help="where results go (choice, beside the file)")
    parser.add_argument("--jobs", type=int, default=1, metavar="N", help="points at a time, in processes of their own")


def run(options: argparse.Namespace, output: Output) -> None:
    """Try what is left, show all points."""
    from luthier.jobs.sweep import sweep
    from luthier.report.tables.tuning import chosen_tables

    found = sweep(options.config, options.output, jobs=options.jobs)
    output.emit(found.as_dict(), lambda: chosen_tables(found.chosen, found.written))
