"""How far an answer can be trusted, as tables: resamples and folds."""

from __future__ import annotations

from typing import Any

from luthier.report.console import decimals_for, table
from luthier.tuning.validation.folds import CrossValidation
from luthier.tuning.validation.resampling import CONFIDENCE, STEADY, Resampling

MOST_FEATURES = 40


def resampling_table(found: Resampling) -> Any:
    """Return each weight with its interval over resamples, and how often winners stay."""
    digits = decimals_for(found.scores.tolist())
    rows = [(name, float(found.answer[d]), *map(float, found.intervals[d])) for d, name in enumerate(found.names)]
    caption = (
        f"each tuned from the answer by exact lines, and brought to its size\n"
        f"a list keeps its winner in {found.stays.mean():.1%} of the resamples on average; {found.steady:,} of "
        f"{len(found.stays):,} lists in {STEADY:.0%} or more\n"
        f"the answer's own score has a standard deviation of {found.score_spread:.{digits}f} over resamples"
    )
    title = f"weights over {len(found.weights):,} resamples of the tuning sentences"
    return table(title, ("feature", "answer", f"{CONFIDENCE:.0%} from", "to"), rows[:MOST_FEATURES], caption=caption)


def folds_table(found: CrossValidation) -> Any:
    """Return the cross-validated score beside the optimistic one, and the spread of the weights."""
    digits = decimals_for([found.score, found.optimistic, found.baseline])
    low, high = found.interval
    least, most = found.difference_interval
    told = (
        f"every sentence re-ranked by weights that have not seen it: {found.score:.{digits}f} "
        f"({low:.{digits}f} … {high:.{digits}f}), one score of all of them\n"
        f"the answer on the sentences it was tuned on, which flatters: {found.optimistic:.{digits}f}\n"
        f"the best baseline of each fold: {found.baseline:.{digits}f}; Δ {found.difference:+.{digits}f} "
        f"({least:+.{digits}f} … {most:+.{digits}f})\n"
        "intervals of 95 % by bootstrap over sentences"
    )
    rows = [
        (name, float(found.answer[d]), float(column.mean()), float(column.std(ddof=1)))
        for d, (name, column) in enumerate(zip(found.names, found.weights.T, strict=True))
    ]
    kept = f", {found.by} kept together" if found.by else ""
    title = f"weights over {found.n_folds} folds{kept}"
    return table(title, ("feature", "answer", "mean", "deviation"), rows[:MOST_FEATURES], caption=told)
