"""Run a study of a paper: many units, ending in tables and figures.

  luthier study studies/zhao-2009/study.toml
  luthier study studies/zhao-2009/study.toml --data lists --only de-en
  luthier study studies/zhao-2009/loops.toml --data DIR -o loops
  luthier study studies/clark-2014/study.toml --data multi30k --jobs 2
  luthier study studies/zhao-2009/study.toml --cluster local:4

A study's file says its kind: starts (tuners from many starts), tuner-loops, conditions (features, bins and tuners by
whole loops), capacity or consensus. Each unit that finishes is a line in results/units.jsonl. Started again, a study
resumes where it was, loops in their last turn. Tables and figures are made from these lines alone. Data sets whose
files do not exist are left out. Studies need a clone of the repository and an editable install: a wheel has no runner.
"""

from __future__ import annotations

import argparse

from luthier.cli.options.cluster import add_cluster_options, cluster_from
from luthier.cli.output import Output


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of `luthier study`."""
    parser.add_argument("study", metavar="FILE", help="a study, in TOML")
    parser.add_argument("--data", metavar="DIR", help="folder of the files that the study reads")
    parser.add_argument("--only", default="", metavar="NAME", help="only this data set, tuner, metric or condition")
    parser.add_argument("-o", "--output", metavar="DIR", help="where results go (results, beside the study)")
    parser.add_argument("--jobs", type=int, default=1, metavar="N", help="units at a time, in processes of their own")
    parser.add_argument("--tables", action="store_true", help="run nothing: tables and figures of what is done")
    add_cluster_options(parser)


def run(options: argparse.Namespace, output: Output) -> None:
    """Run what is left, write tables and figures, name them."""
    from pathlib import Path

    from luthier.core.errors import LuthierError
    from luthier.core.tasks import Processes, Serial
    from luthier.jobs.lab import check_installed

    check_installed()
    from luthier.jobs.lab.base import run_study

    if options.jobs < 1:
        raise LuthierError(f"expected at least one job, found {options.jobs}")
    if options.jobs > 1 and options.cluster:
        raise LuthierError("--jobs are processes of this machine without --cluster: expected one of them, found both")
    folder = options.output or str(Path(options.study).parent / "results")
    with cluster_from(options, Serial() if options.jobs == 1 else Processes(options.jobs)) as engine:
        paths = run_study(
            options.study, folder, data=options.data, only=options.only, engine=engine, run=not options.tables
        )
    output.emit({"files": paths}, lambda: "\n".join(paths))
