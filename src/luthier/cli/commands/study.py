"""Run a study: tuners from many starts on several data sets, ending in tables and figures.

  luthier study studies/zhao-2009/study.toml
  luthier study studies/zhao-2009/study.toml --data lists --only de-en

A study file names its data, tuners, metrics and starts. Each unit that finishes is a line in
results/units.jsonl; started again, a study goes on where it was. Tables and figures are made from these
lines alone. Data sets whose files are not here are left out.
"""

from __future__ import annotations

import argparse

from luthier.cli.output import Output

GROUP = "studies and made-up data"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of `luthier study`."""
    parser.add_argument("study", metavar="FILE", help="a study, in TOML")
    parser.add_argument("--data", metavar="DIR", help="folder of the lists that the study reads")
    parser.add_argument("--only", default="", metavar="NAME", help="only this data set, tuner or metric")
    parser.add_argument("-o", "--output", metavar="DIR", help="where results go (results, beside the study)")


def run(options: argparse.Namespace, output: Output) -> None:
    """Run what is left, write tables and figures, name them."""
    from pathlib import Path

    from luthier.pipelines.study.study import run_study

    folder = options.output or str(Path(options.study).parent / "results")
    paths = run_study(options.study, folder, data=options.data, only=options.only)
    output.emit({"files": paths}, lambda: "\n".join(paths))
