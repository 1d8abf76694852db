"""Options of `luthier tune` that say how far the answer can be trusted: resamples and folds."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from luthier.core.errors import LuthierError

if TYPE_CHECKING:
    from luthier.tuning.validation.report import TuningReport


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
