"""Train a translation system: from a parallel text to tuned weights.

  luthier train train.toml
  luthier train train.toml -o model

The file names the texts and, where the defaults will not do, the aligner, the language model, the limits of rules and
search, the tuner and the loop; docs/loop.md explains it. Steps whose inputs and settings have not changed are left
out.
"""

from __future__ import annotations

import argparse

from luthier.cli.output import Output


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of `luthier train`."""
    parser.add_argument("config", metavar="CONFIG", help="the training's settings, in TOML")
    parser.add_argument("--data", metavar="DIR", help="where relative paths start (default: beside the settings)")
    parser.add_argument("-o", "--output", metavar="DIR", help="the model's folder (default: beside the settings)")


def run(options: argparse.Namespace, output: Output) -> None:
    """Train, show what came of it."""
    from luthier.jobs.train import train
    from luthier.report.tables.training import training_tables

    trained = train(options.config, options.output, data=options.data, seed=options.seed, threads=options.threads)
    output.emit(trained.as_dict(), lambda: training_tables(trained))
