"""How far an answer can be trusted, as tables: resamples, folds, and what each scorer adds."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from luthier.report.console import FinePrint, code_of, decimals_for, stack, table, written_text
from luthier.tuning.validation.folds import CrossValidation
from luthier.tuning.validation.resampling import STEADY, Resampling
from luthier.tuning.validation.weight_shares import size_of

if TYPE_CHECKING:
    from luthier.tuning.validation.ablation import Ablation, Effect

MOST_FEATURES = 40


def resampling_table(found: Resampling) -> Any:
    """Return how often winners stay, and how much the answer's own score varies."""
    digits = decimals_for(found.scores.tolist())
    rows = [
        ("lists that keep their winner, on average", f"{found.stays.mean():.1%} of the resamples"),
        (f"lists that keep it in {STEADY:.0%} or more", f"{found.steady:,} of {len(found.stays):,}"),
        ("standard deviation of the answer's own score", f"{found.score_spread:.{digits}f}"),
    ]
    title = f"over {len(found.weights):,} resamples of the tuning sentences"
    told = "each tuned from the answer by exact lines; intervals of weights are brought to its size"
    return table(title, ("", ""), rows, caption=told)


def folds_table(found: CrossValidation) -> Any:
    """Return the cross-validated score beside the optimistic one, and the spread of the weights; sizes sum to 1."""
    size = size_of(found.answer)
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
    if found.tried:
        scores = ", ".join(f"{name} {score:.{digits}f}" for name, score in found.tried.items())
        told += f"\nfolds chose the tuner, and the best of several flatters a little: {scores}"
    rows = [
        (name, float(found.answer[d]) / size, float(column.mean()) / size, float(column.std(ddof=1)) / size)
        for d, (name, column) in enumerate(zip(found.names, found.weights.T, strict=True))
    ]
    kept = f", {found.by} kept together" if found.by else ""
    title = f"weights over {found.n_folds} folds{kept}"
    weights = table(title, ("feature", "answer", "mean", "deviation"), rows[:MOST_FEATURES], caption=told)
    return stack(weights, _cross_metrics(found)) if found.others else weights


def _cross_metrics(found: CrossValidation) -> Any:
    """Return what the tuned weights do to other metrics, on unseen sentences."""
    rows = []
    for other in found.others:
        digits = decimals_for([other.baseline, other.tuned])
        low, high = (f"{end:+.{digits}f}" for end in other.interval)
        scores = (f"{score:.{digits}f}" for score in (other.baseline, other.tuned))
        difference = f"{other.tuned - other.baseline:+.{digits}f}"
        rows.append((other.metric, *scores, difference, f"{low} … {high}", other.verdict))
    title = f"other metrics, on the same {len(found.folds):,} unseen sentences"
    return table(title, ("metric", "baseline", "tuned", "Δ", "95 % interval", ""), rows)


def ablation_tables(found: Ablation, written: Sequence[str]) -> Any:
    """Return what each scorer adds to the others, scorers added one after another, and the files written."""
    digits = decimals_for([found.score, found.first, *(effect.score for effect in found.effects)])
    rows = [
        (_named(e), f"{e.score:.{digits}f}", _number(e.alone, digits), *_difference(e, digits), *_verdict(e, digits))
        for e in found.effects
    ]
    kept = f", {found.by} kept together" if found.by else ""
    legend = [
        found.metric,
        found.tuner,
        f"every sentence re-ranked by weights of the other folds, {found.n_folds} in all{kept}; one score of "
        f"{len(found.folds):,} sentences",
        f"Δ is the score of all scorers less that without; {'higher' if found.higher_is_better else 'lower'} is better",
        f"p by approximate randomisation, corrected for {len(found.effects)} by Holm; verdicts at {found.level:g}",
        "an effect of the size in the last column would have been seen in four of five such sets of sentences",
    ]
    told = [
        f"{code_of(found.metric)} on unseen sentences: all scorers {found.score:.{digits}f}, "
        f"first of each list {found.first:.{digits}f}",
        *found.notes,
    ]
    columns = ("scorer", "without", "alone", "Δ", "95 % interval", "p", "verdict", "seen from")
    first = [c for c, column in enumerate(columns) if column != "without"]
    short = [[row[c] for c in first] for row in rows]
    below = {"caption": "\n".join(told), "legend": "\n".join(legend)}
    parts = [
        table("each scorer left out", [columns[c] for c in first], short, **below),
        FinePrint(table("in detail", columns, rows)),
    ]
    if found.forward is not None:
        steps = [
            (f"{'+ ' * bool(i)}{_named(e)}", f"{e.score:.{digits}f}", *_difference(e, digits), *_verdict(e, digits))
            for i, e in enumerate(found.forward)
        ]
        order = "the order is that of the gain on all sentences, so the score of a few of many scorers flatters"
        heads = ("scorers", "with it", "Δ", "95 % interval", "p", "verdict", "seen from")
        parts.append(table("one scorer after another", heads, steps, caption=order))
    if written:
        parts.append(written_text(written))
    return stack(*parts)


def _verdict(effect: Effect, digits: int) -> tuple[str, str]:
    """Return the verdict on a scorer, and the size of an effect that would have been seen."""
    if not effect.told and not effect.changed:
        return "changes nothing", ""
    return effect.verdict, f"{effect.detectable:.{digits}f}"


def _named(effect: Effect) -> str:
    """Return a scorer's name; a group's with its scorers."""
    return effect.name if effect.scorers == (effect.name,) else f"{effect.name} ({', '.join(effect.scorers)})"


def _difference(effect: Effect, digits: int) -> tuple[str, str, str]:
    low, high = effect.interval
    interval = f"{low:+.{digits}f} … {high:+.{digits}f}"
    return f"{effect.difference:+.{digits}f}", interval, f"{effect.corrected:.2g}"


def _number(value: float | None, digits: int) -> str | None:
    return None if value is None else f"{value:.{digits}f}"
