"""How far an answer can be trusted, as tables: resamples, folds, and what each scorer adds."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from luthier.report.console import FinePrint, code_of, decimals_for, stack, table, written_text
from luthier.tuning.validation.ablation import UNTOLD, Ablation, Effect
from luthier.tuning.validation.folds import CrossValidation
from luthier.tuning.validation.resampling import STEADY, Resampling
from luthier.tuning.validation.weight_shares import size_of

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
    rows = [
        (name, float(found.answer[d]) / size, float(column.mean()) / size, float(column.std(ddof=1)) / size)
        for d, (name, column) in enumerate(zip(found.names, found.weights.T, strict=True))
    ]
    kept = f", {found.by} kept together" if found.by else ""
    title = f"weights over {found.n_folds} folds{kept}"
    return table(title, ("feature", "answer", "mean", "deviation"), rows[:MOST_FEATURES], caption=told)


def ablation_tables(found: Ablation, written: Sequence[str]) -> Any:
    """Return what each scorer adds to the others, scorers added one after another, and the files written."""
    digits = decimals_for([found.score, found.first, *(effect.score for effect in found.effects)])
    kept = f", {found.by} kept together" if found.by else ""
    legend = [
        found.metric,
        found.tuner,
        f"every sentence re-ranked by weights of the other folds, {found.n_folds} in all{kept}; one score of "
        f"{len(found.folds):,} sentences",
        f"Δ is the score of all scorers less that without; {'higher' if found.higher_is_better else 'lower'} is better",
        f"p by approximate randomisation, corrected for {len(found.effects)} by Holm; verdicts at {found.level:g}",
    ]
    rows = [
        (_named(e), _number(e.alone, digits), _difference(e, digits)[0], f"{e.corrected:.2g}", e.verdict)
        for e in found.effects
    ]
    told = [
        f"{code_of(found.metric)} on unseen sentences: all scorers {found.score:.{digits}f}, "
        f"first of each list {found.first:.{digits}f}",
        *found.notes,
    ]
    whole = [(_named(e), f"{e.score:.{digits}f}", *_difference(e, digits), verdict(e, digits)) for e in found.effects]
    parts = [
        table(
            "each scorer left out",
            ("scorer", "alone", "adds to the others, 95 % interval", "p, corrected", "verdict"),
            rows,
            caption="\n".join(told),
            legend="\n".join(legend),
        ),
        FinePrint(
            table("in detail", ("scorer", "without it", "Δ, 95 % interval", "p", "p, corrected", "verdict"), whole)
        ),
    ]
    if found.forward is not None:
        steps = [
            (f"{'+ ' * bool(i)}{_named(e)}", f"{e.score:.{digits}f}", *_difference(e, digits), verdict(e, digits))
            for i, e in enumerate(found.forward)
        ]
        told = "the order is that of the gain on all sentences, so the score of a few of many scorers flatters"
        columns = ("scorers", "with it", "Δ, 95 % interval", "p", "p, corrected", "verdict")
        parts.append(table("one scorer after another", columns, steps, caption=told))
    if written:
        parts.append(written_text(written))
    return stack(*parts)


def verdict(effect: Effect, digits: int) -> str:
    """Return the verdict on a scorer; where it cannot be told, what could have been."""
    if effect.verdict != UNTOLD:
        return effect.verdict
    if not effect.changed:
        return f"{UNTOLD} (no sentence changes)"
    return f"{UNTOLD} (an effect of {effect.detectable:.{digits}f} would have been seen)"


def _named(effect: Effect) -> str:
    """Return a scorer's name; a group's with its scorers."""
    return effect.name if effect.scorers == (effect.name,) else f"{effect.name} ({', '.join(effect.scorers)})"


def _difference(effect: Effect, digits: int) -> tuple[str, str, str]:
    low, high = effect.interval
    told = f"{effect.difference:+.{digits}f} ({low:+.{digits}f} … {high:+.{digits}f})"
    return told, f"{effect.p:.2g}", f"{effect.corrected:.2g}"


def _number(value: float | None, digits: int) -> str | None:
    return None if value is None else f"{value:.{digits}f}"
