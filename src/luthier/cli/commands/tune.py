"""Tune weights on a pool for a metric.

  luthier tune pool.arrow --metric bleu --method mert -o weights.txt
  luthier tune list.jsonl --column comet --metric column:comet --method mert -o weights.txt
  luthier tune pool.arrow --method pro --heldout heldout.arrow --replicas 3 -o weights.txt
  luthier tune pool.arrow --method mert --folds 5 --resamples 200 -o weights.txt
  luthier tune pool.arrow --method pro --bins bins.json --neighbours mnr --beta 1e4 -o weights.txt
  luthier tune pool.arrow --method mert --axis leading:5 -o weights.txt
  luthier tune pool.arrow --worst-of bleu,chrf,ter --constraint 'length>=98' -o weights.txt
  luthier tune list.jsonl --add 'lp=logprob/words**a' --search a=0:1.5 --method mert -o weights.txt
  luthier tune --forests DIR --refs ref.txt --method mert -o weights.txt

Each tuner has options of its own: 'luthier tune POOL --method NAME --help' shows them, 'luthier list tuners' lists
all. Ctrl-C keeps the best weights so far. Tuners that search lines take a sharded pool too ('luthier data shard').
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from luthier.cli.options.cluster import add_cluster_options, cluster_from, file_of
from luthier.cli.options.fields import add_field_options, add_tuner_options, field_values
from luthier.cli.options.landscape import add_picture_options, picture_width
from luthier.cli.options.lists import HELP, add_pool_options, manifest_from, pairs, pool_from
from luthier.cli.options.weights import (
    add_metric_options,
    add_strict_option,
    add_writing_options,
    check_writing,
    metrics_from,
    write_in_any_case,
)
from luthier.cli.output import Output
from luthier.core.errors import LuthierError

if TYPE_CHECKING:
    from luthier.core.files.written import Written
    from luthier.decoding.forests.files import Forests
    from luthier.jobs.run_file import RunFile
    from luthier.kbest.pool import Pool
    from luthier.kbest.shards.manifest import Manifest
    from luthier.kbest.storage.pool_file import PoolFile
    from luthier.tuning.validation.report import TuningReport


EXIT_INTERRUPTED = 130
ENVELOPES = "luthier.geometry.lines._envelope_kernels"
FIRST_OPTIONS = (
    "pool", "--metric", "--method", "-o", "--refs", "--column", "--folds", "--heldout", "--start", "--restarts",
)  # fmt: skip

COLD = 25, 12  # kernels, seconds


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options that all tuners share."""
    from luthier.tuning.options import RunOptions

    parser.add_argument("pool", metavar="POOL", nargs="*", help=f"{HELP}; several lists are merged")
    parser.add_argument("--forests", metavar="DIR", help="tune on forests of 'luthier engine decode --forests' instead")
    parser.add_argument(
        "--method", default="auto", metavar="NAME", help="the tuner; 'luthier list tuners' lists them (default: auto)"
    )
    parser.add_argument(
        "-o", "--output", metavar="W", help="weights to write (.txt, .json, .ini); none: the table alone"
    )
    parser.add_argument(
        "--start",
        metavar="W",
        help="weights to start from (default: the best baseline that is a weight vector; those of forests)",
    )
    add_strict_option(parser)
    add_writing_options(parser)
    parser.add_argument("--heldout", metavar="POOL", help="unseen sentences that choose the answer: a pool or a list")
    parser.add_argument("--heldout-refs", nargs="+", default=[], metavar="R", help="references of the held-out list")
    parser.add_argument(
        "--heldout-join", action="append", default=[], metavar="[NAME=]FILE", help="scores of the held-out list"
    )
    parser.add_argument(
        "--bound",
        action="append",
        default=[],
        metavar="NAME=LO:HI",
        help="limits of a weight: lm=0: (not negative), wp=-1:1, tm=0.5 (fixed)",
    )
    parser.add_argument(
        "--bins",
        metavar="B",
        help="features of the pool that are bins ('luthier engine bins'); made of derivations if need be",
    )
    parser.add_argument(
        "--search",
        metavar="A=LO:HI",
        action="append",
        help="a constant of the --add formulas: tune at values from LO to HI, choose the best (on --heldout, if given)",
    )
    parser.add_argument(
        "--standardize-features",
        action="store_true",
        help="bring features to one scale while tuning; undone at the end",
    )
    parser.add_argument("--replicas", type=int, default=1, metavar="N", help="as many seeds, weights.1.txt and so on")
    parser.add_argument("--average-replicas", action="store_true", help="also write their average")
    add_validation_options(parser)
    parser.add_argument("--trace", metavar="JSONL", help="write every state of every run, as it comes")
    add_picture_options(parser, "--plot", "draw the score by step, and by each weight at the end")
    parser.add_argument(
        "--published", action="store_true", help="the setting of the tuner's paper, but for the options given"
    )
    add_metric_options(parser, "bleu")
    _add_several_options(parser)
    add_field_options(parser, RunOptions)
    add_pool_options(parser)
    add_cluster_options(parser)


def _add_several_options(parser: argparse.ArgumentParser) -> None:
    """Declare how several metrics are tuned for at once."""
    parser.add_argument(
        "--worst-of",
        default="",
        metavar="M,M",
        help="in place of --metric: the smallest gain of these, each over its own at the start, in units of its noise",
    )
    parser.add_argument(
        "--constraint",
        action="append",
        default=[],
        metavar="'M>=X'",
        help="a limit on another metric, such as 'length>=98' or 'ter<=50', on the tuning sentences; repeat it",
    )


def extend_arguments(parser: argparse.ArgumentParser, arguments: Sequence[str]) -> None:
    """Add the options of the tuner that was named."""
    if "axis" not in add_tuner_options(parser, arguments):
        parser.add_argument(
            "--axis",
            action="append",
            default=[],
            dest="along",
            metavar="A",
            help="move weights along this only, and along the start: a feature, a file of a direction, sums (of the "
            "bins of each feature), random:N or leading:N (where rows differ most); repeat it",
        )


def run(options: argparse.Namespace, output: Output) -> int:
    """Tune, write the weights, show what was reached."""
    from luthier.core.errors import Interrupted
    from luthier.core.jit import compiler_seconds
    from luthier.jobs.run_file import DONE, INTERRUPTED, RunFile, about_tuning
    from luthier.landscape.sharded_problem import ShardedProblem
    from luthier.report.console import stack
    from luthier.report.tables.tuning import tuning_tables
    from luthier.tuning.validation.weight_shares import weight_shares

    check_validation(options, search=options.search)
    with RunFile(options.output, "tune", seed=options.seed) as record:
        try:
            report = _tune(options, record)
        except Interrupted as stopped:
            report = stopped.result
        kept = _kept_size(report, options)
        files = _write(report, options, kept)
        written = files.paths
        answers = _answers(options)
        if set(answers) <= set(written):
            about = about_tuning(report, answers, normalized=not kept)
            record.finish(INTERRUPTED if report.interrupted else DONE, **about)
    shares = {share.name: share.as_dict() for share in weight_shares(report)}
    weights = {"as_found": bool(kept), "why": kept or None, "features": shares}
    about = {**report.as_dict(), "weights": weights, "compile_seconds": compiler_seconds()[0], "written": written}
    if isinstance(report.problem, ShardedProblem):
        about["parts_sent"] = report.problem.traffic.as_dict()
    output.emit(about, lambda: stack(tuning_tables(report, written, report.searched, kept), *validation_tables(report)))
    files.check()
    return EXIT_INTERRUPTED if report.interrupted else 0


def _tune(options: argparse.Namespace, record: RunFile) -> TuningReport:
    from pathlib import Path

    from luthier.core.errors import LuthierError
    from luthier.jobs.run_file import about_lists, about_metric
    from luthier.jobs.tune import feature_names, tune
    from luthier.jobs.warm import TUNE_FEW, compile_ahead
    from luthier.kbest.weights import read_weights

    if bool(options.pool) == bool(options.forests):
        raise LuthierError("expected a pool or --forests, found both or neither")
    settings = _checked(options)  # before lists are read
    formulas = [] if options.search is None else list(options.add)
    if formulas:
        options.add = []
    few = settings["metric"].label, options.method, str(options.folds or "")
    with cluster_from(options) as engine, compile_ahead(TUNE_FEW, ENVELOPES, *few, threads=options.threads):
        source = _source(options)
        unseen = argparse.Namespace(**{**vars(options), "join": options.heldout_join})
        heldout = pool_from(unseen, options.heldout, options.heldout_refs) if options.heldout else None
        if record.path:
            record.note(**about_metric(settings["metric"]), trace=options.trace and Path(options.trace).name)
            record.note(lists=about_lists(options.forests or options.pool[0], source))
            record.note(heldout=about_lists(options.heldout, heldout) if options.heldout else None)
        names = feature_names(source)
        check_writing(options, names)
        start = (
            read_weights(options.start).vector(names, source=options.start, strict=options.strict)
            if options.start
            else None
        )
        return tune(
            source,
            start=start,
            heldout=heldout,
            worst_of=options.worst_of,
            constraint=options.constraint,
            bound=pairs(options.bound, str, "--bound"),
            bins=options.bins,
            add=formulas,
            feature=options.feature,
            search=None if options.search is None else options.search[0],
            axis=tuple(getattr(options, "along", ())),
            standardize_features=options.standardize_features,
            replicas=options.replicas,
            average_replicas=options.average_replicas,
            refs=options.refs if options.forests else (),
            trace=options.trace,
            resamples=options.resamples,
            folds=options.folds,
            fold_by=options.fold_by or "",
            also=options.also,
            engine=engine,
            files=_files(options, source, heldout) if engine else (None, None),
            watch=record.watch,
            **settings,
        )


def _source(options: argparse.Namespace) -> Pool | Manifest | Forests:
    """Return what to tune on: forests, a sharded pool, or a pool or list."""
    if options.forests:
        from luthier.decoding.forests.files import open_forests

        return open_forests(options.forests)
    if len(options.pool) > 1:
        return pool_from(options, options.pool)
    return manifest_from(options, options.pool[0]) or pool_from(options, options.pool)


def _files(
    options: argparse.Namespace, source: Pool | Manifest | Forests, heldout: Pool | None
) -> tuple[PoolFile | None, PoolFile | None]:
    """Return the files in which other processes find the pools just as they are."""
    from luthier.kbest.pool import Pool

    return (
        file_of(options.pool[0], source) if isinstance(source, Pool) and not options.bins else None,
        file_of(options.heldout, heldout) if not options.bins else None,
    )


def _checked(options: argparse.Namespace) -> dict[str, Any]:
    """Check all that can be checked before anything is read; return the metric, the tuner and options of its runs."""
    from luthier.core.errors import LuthierError
    from luthier.core.files.io import check_distinct, check_writable
    from luthier.core.plugins import load
    from luthier.jobs.run_file import run_path
    from luthier.tuning.base import PACKAGE, published_setting
    from luthier.tuning.options import RunOptions

    method = load(PACKAGE, options.method)
    settings = field_values(RunOptions, options)
    published = published_setting(method, options.method) if options.published else {}
    tuner, metrics = method(**{**published, **field_values(method, options)}), metrics_from(options)
    if len(metrics) != 1:
        raise LuthierError(f"expected one metric to tune for, found {len(metrics)}. hint: a sum is one metric")
    if options.search and len(options.search) > 1:
        raise LuthierError(f"expected one constant to search, found --search {len(options.search)} times")
    checkpoint = RunOptions(**settings).checkpoint
    if options.output is None and (options.template or options.average_replicas):
        raise LuthierError("expected a file to write weights to: --template and --average-replicas need -o")
    paths = _answers(options)
    record = run_path(options.output) if options.output is not None else ""
    check_distinct(*paths, record or None, options.trace, checkpoint, options.plot)
    for path in filter(None, [*paths, options.trace, checkpoint]):
        check_writable(path)
    picture_width(options, options.plot)
    return {"method": tuner, "metric": next(iter(metrics.values())), **settings}


def _answers(options: argparse.Namespace) -> Sequence[str]:
    """Return the files of weights that will be written."""
    from luthier.tuning.validation.report import answer_paths

    if options.output is None:
        return ()
    return answer_paths(options.output, max(1, options.replicas), average=options.average_replicas)


def _kept_size(report: TuningReport, options: argparse.Namespace) -> str:
    """Return why the file has the weights in another size than the table; '' where it has the same numbers."""
    from luthier.core.plugins import load
    from luthier.tuning.base import PACKAGE
    from luthier.tuning.validation.weight_shares import kept_size

    for name in ("normalize", "template"):
        if getattr(options, name):
            return f"--{name} was given"
    method = load(PACKAGE, options.method)
    return kept_size(report, method(**field_values(method, options)))


def _write(report: TuningReport, options: argparse.Namespace, kept: str) -> Written:
    """Write weights, and the picture where asked for; return what was written."""
    from luthier.core.files.written import Written
    from luthier.tuning.validation.report import answers

    written = Written()
    for path, weights in answers(report, options.output).items() if options.output is not None else ():
        write_in_any_case(weights if kept else weights.normalized("l1"), path, options, written)
    if options.trace:
        written.paths.append(options.trace)
    if options.plot:
        from pathlib import Path

        from luthier.report.figures.tuning import draw_tuning

        with written.beside(options.plot):
            draw_tuning(report, Path(options.plot), picture_width(options, options.plot))
    return written


def add_validation_options(parser: argparse.ArgumentParser) -> None:
    """Declare --resamples, --folds, --fold-by and --also."""
    parser.add_argument(
        "--resamples", type=int, metavar="N", help="tune again on N resamples of the sentences: intervals of weights"
    )
    parser.add_argument(
        "--folds", type=int, metavar="N", help="cross-validate: each of N folds re-ranked by weights of the others"
    )
    parser.add_argument("--fold-by", metavar="COLUMN", help="a column whose equal numbers stay in one fold: documents")
    parser.add_argument(
        "--also", action="append", default=[], metavar="METRIC", help="with --folds: what tuning does to this one, too"
    )


def check_validation(options: argparse.Namespace, **others: object) -> None:
    """Raise where resamples or folds are asked for with what they cannot go with; `others` are such options."""
    for name in ("resamples", "folds"):
        value = getattr(options, name)
        if value is not None and value < 2:
            raise LuthierError(f"expected --{name} of at least 2, found {value}")
    if options.fold_by and options.folds is None:
        raise LuthierError("--fold-by needs --folds")
    if options.also and options.folds is None:
        raise LuthierError("--also needs --folds")
    if options.folds is not None and options.heldout:
        raise LuthierError("--folds is in place of --heldout: give one of them")
    if options.resamples is not None or options.folds is not None:
        for name, given in others.items():
            if given:
                raise LuthierError(f"--resamples and --folds cannot go with --{name}")


def validation_tables(report: TuningReport) -> list[Any]:
    """Return a table for each that there is; that of folds is fine print, since they make the answer itself."""
    from luthier.report.console import FinePrint
    from luthier.report.tables.validation import folds_table, resampling_table

    return [
        *([] if report.resampled is None else [resampling_table(report.resampled)]),
        *([] if report.folds is None else [FinePrint(folds_table(report.folds))]),
    ]
