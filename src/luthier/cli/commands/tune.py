"""Tune weights on a pool for a metric.

  luthier tune pool.arrow --metric bleu --method mert -o weights.txt
  luthier tune list.jsonl --column comet --metric column:comet --method mert -o weights.txt
  luthier tune pool.arrow --method pro --heldout heldout.arrow --replicas 3 -o weights.txt
  luthier tune pool.arrow --method mert --folds 5 --resamples 200 -o weights.txt
  luthier tune pool.arrow --method pro --bins bins.json --neighbours mnr --beta 1e4 -o weights.txt
  luthier tune pool.arrow --method mert --axis leading:5 -o weights.txt
  luthier tune list.jsonl --add 'lp=logprob/words**a' --search a=0:1.5 --method mert -o weights.txt
  luthier tune --forests DIR --refs ref.txt --method mert -o weights.txt

Each tuner has options of its own: 'luthier tune POOL --method NAME --help' shows them, 'luthier tuners'
lists all. Ctrl-C keeps the best weights so far. Tuners that search lines take a pool in parts too ('luthier shard').
"""

from __future__ import annotations

import argparse
import dataclasses
from collections.abc import Sequence
from typing import TYPE_CHECKING

from luthier.cli.cluster_options import add_cluster_options, cluster_from, file_of
from luthier.cli.fields import add_field_options, field_values
from luthier.cli.metric_options import add_metric_options, metrics_from
from luthier.cli.output import Output
from luthier.cli.picture_options import add_picture_options, picture_width
from luthier.cli.pool_options import HELP, add_pool_options, manifest_from, pool_from
from luthier.cli.reading_options import pairs
from luthier.cli.validation_options import (
    add_validation_options,
    check_validation,
    validated,
    validation_tables,
)
from luthier.cli.weight_options import add_strict_option, add_writing_options, check_writing, write_in_any_case

if TYPE_CHECKING:
    from luthier.core.arrays import Float64
    from luthier.core.tasks import Engine
    from luthier.kbest.parts.manifest import Manifest
    from luthier.kbest.pool import Pool
    from luthier.landscape.bounds import Bounds
    from luthier.metrics.base import Metric
    from luthier.pipelines.forest_tuning import ForestTuningJob
    from luthier.pipelines.parted_tuning import PartedTuningJob
    from luthier.pipelines.searching import Searched
    from luthier.pipelines.trace_file import WatchSeed
    from luthier.pipelines.tuning import TuningJob
    from luthier.tuning.base import Tuner
    from luthier.tuning.run_options import RunOptions
    from luthier.tuning.tuned import TuningReport

GROUP = "tuning"
INTERRUPTED = 130


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options that all tuners share."""
    from luthier.tuning.run_options import RunOptions

    parser.add_argument("pool", metavar="POOL", nargs="?", help=HELP)
    parser.add_argument("--forests", metavar="DIR", help="tune on forests of 'luthier decode --forests' instead")
    parser.add_argument(
        "--method", default="auto", metavar="NAME", help="the tuner; 'luthier tuners' lists them (default: auto)"
    )
    parser.add_argument("-o", "--output", required=True, metavar="W", help="weights to write (.txt, .json, .ini)")
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
        "--bound", action="append", default=[], metavar="NAME=LO:HI",
        help="limits of a weight: lm=0: (not negative), wp=-1:1, tm=0.5 (fixed)",
    )  # fmt: skip
    parser.add_argument(
        "--bins",
        metavar="B",
        help="features of the pool that are bins ('luthier bins'); made of derivations if need be",
    )
    parser.add_argument(
        "--search", metavar="A=LO:HI", action="append",
        help="a constant of the --add formulas: tune at values from LO to HI, choose the best (on --heldout, if given)",
    )  # fmt: skip
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
    add_field_options(parser, RunOptions)
    add_pool_options(parser)
    add_cluster_options(parser)


def extend_arguments(parser: argparse.ArgumentParser, arguments: Sequence[str]) -> None:
    """Add the options of the tuner that was named."""
    peek = argparse.ArgumentParser(add_help=False, allow_abbrev=False)
    peek.add_argument("--method")
    name = peek.parse_known_args(list(arguments))[0].method
    own: set[str] = set()
    if name:
        from luthier.core.plugins import load
        from luthier.tuning.base import PACKAGE

        method = load(PACKAGE, name)
        own = {field.name for field in dataclasses.fields(method)}
        add_field_options(parser, method, f"options of {name}")
    if "axis" not in own:
        parser.add_argument(
            "--axis", action="append", default=[], dest="along", metavar="A",
            help="move weights along this only, and along the start: a feature, a file of a direction, sums (of the "
            "bins of each feature), random:N or leading:N (where rows differ most); repeat it",
        )  # fmt: skip


def run(options: argparse.Namespace, output: Output) -> int:
    """Tune, write the weights, show what was reached."""
    from luthier.core.jit import compiler_seconds
    from luthier.landscape.parted.problem import PartedProblem
    from luthier.pipelines.trace_file import GrowingTrace
    from luthier.report.console import stack
    from luthier.report.tables.tuning import tuning_tables

    check_validation(options, forests=options.forests, axis=_axes(options), search=options.search)
    with GrowingTrace(options.trace) as trace:
        report, searched, job = _tune(options, trace.watch)
    written = _write(report, options)
    output.note(f"seed {options.seed}")
    resampled, folds = (None, None) if job is None or report.interrupted else validated(options, job, report)
    about = {**report.as_dict(), "compile_seconds": compiler_seconds()[0], "written": written}
    if isinstance(report.problem, PartedProblem):
        about["parts_sent"] = report.problem.traffic.as_dict()
    if searched:
        about["search"] = searched.as_dict()
    for name, found in (("resamples", resampled), ("folds", folds)):
        if found is not None:
            about[name] = found.as_dict()
    output.emit(about, lambda: stack(tuning_tables(report, written, searched), *validation_tables(resampled, folds)))
    return INTERRUPTED if report.interrupted else 0


def _tune(
    options: argparse.Namespace, watch: WatchSeed
) -> tuple[TuningReport, Searched | None, TuningJob | None]:  # fmt: skip
    """Return what was tuned, the constant that was searched, and the job where it is of one pool."""
    from luthier.core.errors import LuthierError

    if (options.pool is None) == (options.forests is None):
        raise LuthierError("expected a pool or --forests, found both or neither")
    if options.pool is not None:
        from luthier.pipelines.parted_tuning import tune_parts
        from luthier.pipelines.tuning import tune_pool

        _checked(options)  # before lists are read
        manifest = manifest_from(options, options.pool)
        with cluster_from(options) as engine:
            if manifest is not None:
                parted = _parted_job(options, manifest, engine)
                return tune_parts(dataclasses.replace(parted, watch=watch)), None, None
            if options.search:
                return *_search(options, engine, watch), None
            job = dataclasses.replace(_job(options, *_pools(options), engine), watch=watch)
            return tune_pool(job), None, job
    from luthier.pipelines.forest_tuning import tune_forests

    if options.cluster:
        raise LuthierError("--cluster needs a pool, found --forests")
    if options.heldout or options.standardize_features or options.bins or options.add or _axes(options):
        raise LuthierError("--heldout, --bins, --add, --axis and --standardize-features need a pool, found --forests")
    return tune_forests(dataclasses.replace(_forest_job(options), watch=watch)), None, None


def _search(options: argparse.Namespace, engine: Engine | None, watch: WatchSeed) -> tuple[TuningReport, Searched]:
    """Search the constant of a formula; tune at the best."""
    from luthier.core.errors import LuthierError
    from luthier.kbest.derived import LENGTHS, Derived, add_derived
    from luthier.metrics.pools import with_statistics
    from luthier.pipelines.searching import Search, search_constant
    from luthier.pipelines.tuning import tune_pool

    if len(options.search) > 1:
        raise LuthierError(f"expected one constant to search, found --search {len(options.search)} times")
    search = Search.parse(options.search[0])
    _, metric, _ = _checked(options)
    formulas, options.add = [Derived.parse(text) for text in options.add], []
    if not any(search.name in item.formula.names for item in formulas):
        raise LuthierError(f"--search {search.name}: no --add formula has such a constant")
    pools = [None if pool is None else with_statistics(pool, metric) for pool in _pools(options)]
    if pools[0] is not None and search.name in (*pools[0].features.names, *pools[0].columns, *LENGTHS):
        raise LuthierError(f"--search {search.name}: the lists have that already. hint: call the constant otherwise")

    def job_at(value: float) -> TuningJob:
        made = [None if pool is None else add_derived(pool, formulas, {search.name: value}) for pool in pools]
        assert made[0] is not None
        return _job(options, made[0], made[1], engine)

    searched = search_constant(search, job_at)
    return tune_pool(dataclasses.replace(job_at(searched.best.value), watch=watch)), searched


def _checked(options: argparse.Namespace) -> tuple[Tuner, Metric, RunOptions]:
    """Check all that can be checked before anything is read; return how to tune, and for what."""
    from luthier.core.errors import LuthierError
    from luthier.core.files.io import check_writable
    from luthier.core.plugins import load
    from luthier.pipelines.tuning import answer_paths
    from luthier.tuning.base import PACKAGE, published_setting
    from luthier.tuning.run_options import RunOptions

    method = load(PACKAGE, options.method)
    settings = RunOptions(**field_values(RunOptions, options))
    published = published_setting(method, options.method) if options.published else {}
    tuner, metrics = method(**{**published, **field_values(method, options)}), metrics_from(options)
    if len(metrics) != 1:
        raise LuthierError(f"expected one metric to tune for, found {len(metrics)}. hint: a sum is one metric")
    if options.replicas < 1:
        raise LuthierError(f"expected at least one replica, found {options.replicas}")
    if options.average_replicas and options.replicas == 1:
        raise LuthierError("--average-replicas needs --replicas of at least 2")
    if _axes(options) and (options.bound or options.standardize_features or options.cluster or settings.certify):
        raise LuthierError("--axis cannot go with --bound, --standardize-features, --cluster or --certify")
    for path in filter(None, [*answer_paths(options.output, options.replicas), options.trace, settings.checkpoint]):
        check_writable(path)
    picture_width(options, options.plot)
    return tuner, next(iter(metrics.values())), settings


def _bounds(options: argparse.Namespace, names: Sequence[str]) -> Bounds:
    """Return the limits of weights; with these names, what is to be written is looked at too."""
    from luthier.landscape.bounds import Bounds

    check_writing(options, names)
    given = pairs(options.bound, str, "--bound")
    return Bounds.from_names(names, {name: _range(name, text) for name, text in given.items()})


def _forest_job(options: argparse.Namespace) -> ForestTuningJob:
    from luthier.decoding.forests.files import open_forests
    from luthier.pipelines.forest_tuning import ForestTuningJob

    tuner, metric, settings = _checked(options)
    forests = open_forests(options.forests)
    names = forests.rules.names
    return ForestTuningJob(
        tuner=tuner,
        forests=forests,
        refs=options.refs,
        metric=metric,
        options=settings,
        start=_start(options, names),
        bounds=_bounds(options, names),
        replicas=options.replicas,
        average=options.average_replicas,
    )


def _parted_job(options: argparse.Namespace, manifest: Manifest, engine: Engine | None) -> PartedTuningJob:
    from luthier.core.errors import LuthierError
    from luthier.pipelines.parted_tuning import PartedTuningJob

    if options.resamples is not None or options.folds is not None:
        raise LuthierError("--resamples and --folds need a whole pool, found one in parts")
    if options.standardize_features or options.bins or options.search or _axes(options):
        raise LuthierError("--bins, --search, --axis and --standardize-features need a whole pool, found one in parts")
    tuner, metric, settings = _checked(options)
    names = manifest.feature_names
    return PartedTuningJob(
        tuner=tuner,
        manifest=manifest,
        metric=metric,
        options=settings,
        start=_start(options, names),
        bounds=_bounds(options, names),
        heldout=pool_from(options, options.heldout, options.heldout_refs) if options.heldout else None,
        replicas=options.replicas,
        average=options.average_replicas,
        engine=engine,
    )


def _job(options: argparse.Namespace, pool: Pool, heldout: Pool | None, engine: Engine | None) -> TuningJob:
    from luthier.pipelines.tuning import TuningJob

    tuner, metric, settings = _checked(options)
    names = pool.features.names
    return TuningJob(
        tuner=tuner,
        pool=pool,
        metric=metric,
        options=settings,
        start=_start(options, names),
        bounds=_bounds(options, names),
        heldout=heldout,
        standardize=options.standardize_features,
        replicas=options.replicas,
        average=options.average_replicas,
        axes=_axes(options),
        engine=engine,
        pool_file=file_of(options.pool, pool) if engine else None,
        heldout_file=file_of(options.heldout, heldout) if engine else None,
    )


def _axes(options: argparse.Namespace) -> tuple[str, ...]:
    """Return the directions that weights are to move along; none for a tuner with axes of its own."""
    return tuple(getattr(options, "along", ()))


def _pools(options: argparse.Namespace) -> tuple[Pool, Pool | None]:
    """Return the pool and the held-out one, with bins where a file of them is named."""
    pools = [pool_from(options, options.pool)]
    if options.heldout:
        pools.append(pool_from(options, options.heldout, options.heldout_refs))
    if options.bins:
        from luthier.features.bins_file import read_bins
        from luthier.features.induce import with_bins

        bins = read_bins(options.bins)
        pools = [with_bins(pool, bins) for pool in pools]
    return pools[0], pools[1] if options.heldout else None


def _start(options: argparse.Namespace, names: Sequence[str]) -> Float64 | None:
    from luthier.kbest.weights import read_weights

    if not options.start:
        return None
    return read_weights(options.start).vector(names, source=options.start, strict=options.strict)


def _range(name: str, text: str) -> tuple[float, float]:
    from luthier.core.errors import LuthierError
    from luthier.landscape.bounds import parse_range

    try:
        return parse_range(text)
    except LuthierError as error:
        raise LuthierError(f"--bound {name}: {error}") from None


def _write(report: TuningReport, options: argparse.Namespace) -> list[str]:
    """Write weights, and the trace and the picture where asked for; return the paths."""
    from luthier.pipelines.trace_file import write_trace
    from luthier.pipelines.tuning import answers

    written = []
    for path, weights in answers(report, options.output).items():
        written += write_in_any_case(weights, path, options)
    if options.trace:
        write_trace(report, options.trace)
        written.append(options.trace)
    if options.plot:
        from pathlib import Path

        from luthier.report.figures.tuning import draw_tuning

        draw_tuning(report, Path(options.plot), picture_width(options, options.plot))
        written.append(options.plot)
    return written
