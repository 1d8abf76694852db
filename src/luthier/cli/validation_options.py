"""Options of `luthier tune` that say how far the answer can be trusted: resamples and folds."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from luthier.core.errors import LuthierError

if TYPE_CHECKING:
    from luthier.pipelines.tuning import TuningJob
    from luthier.tuning.folds import CrossValidation
    from luthier.tuning.resampling import Resampling
    from luthier.tuning.tuned import TuningReport


def add_validation_options(parser: argparse.ArgumentParser) -> None:
    """Declare --resamples, --folds and --fold-by."""
    parser.add_argument(
        "--resamples", type=int, metavar="N", help="tune again on N resamples of the sentences: intervals of weights"
    )
    parser.add_argument(
        "--folds", type=int, metavar="N", help="cross-validate: each of N folds re-ranked by weights of the others"
    )
    parser.add_argument("--fold-by", metavar="COLUMN", help="a column whose equal numbers stay in one fold: documents")


def check_validation(options: argparse.Namespace, **others: object) -> None:
    """Raise where resamples or folds are asked for with what they cannot go with; `others` are such options."""
    for name in ("resamples", "folds"):
        value = getattr(options, name)
        if value is not None and value < 2:
            raise LuthierError(f"expected --{name} of at least 2, found {value}")
    if options.fold_by and options.folds is None:
        raise LuthierError("--fold-by needs --folds")
    if options.folds is not None and options.heldout:
        raise LuthierError("--folds is in place of --heldout: give one of them")
    if options.resamples is not None or options.folds is not None:
        for name, given in others.items():
            if given:
                raise LuthierError(f"--resamples and --folds cannot go with --{name}")


def validated(
    options: argparse.Namespace, job: TuningJob, report: TuningReport
) -> tuple[Resampling | None, CrossValidation | None]:
    """Tune again on resamples and on folds, where asked to."""
    if options.resamples is None and options.folds is None:
        return None, None
    from luthier.pipelines.chance import cross_validate, resample_job

    resampled = None if options.resamples is None else resample_job(job, report, options.resamples)
    if options.folds is None:
        return resampled, None
    return resampled, cross_validate(job, report, options.folds, by=options.fold_by or "")


def validation_tables(resampled: Resampling | None, folds: CrossValidation | None) -> list[Any]:
    """Return a table for each that there is."""
    from luthier.report.tables.validation import folds_table, resampling_table

    return [
        *([] if resampled is None else [resampling_table(resampled)]),
        *([] if folds is None else [folds_table(folds)]),
    ]
