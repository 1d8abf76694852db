"""From a grammar or a pool to bins: which features, how many bins, and what counts how often."""

from __future__ import annotations

import dataclasses
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

from luthier.core.errors import LuthierError, warn
from luthier.features.bins import MOST_BINS, Bins, FeatureBins, Scope, bin_feature
from luthier.features.counts import (
    TARGET_WORDS,
    ValueCounts,
    count_values,
    grammar_values,
    merge_counts,
    present_values,
    rule_weights,
    use_weights,
    with_target_words,
)
from luthier.features.induction import NO_DERIVATIONS, load_induction
from luthier.grammar.grammar import Grammar
from luthier.kbest.pool import Pool

Counts = Mapping[str, ValueCounts]


@dataclasses.dataclass(frozen=True)
class BinOptions:
    """How features are cut, and what becomes of the bins.

    Attributes
    ----------
    bins
        How many for a feature, 2^bits in the words of the paper.
    numbers
        The same for single features.
    keep
        Features that stay beside their bins.
    induction
        Which columns a value fires.
    exact
        Whether bins are of the least error, or filled from the left.
    conjunctions
        Pairs of features; what has both fires a column for the two bins together.
    """

    bins: int = 16
    numbers: Mapping[str, int] = dataclasses.field(default_factory=dict)
    keep: Collection[str] = ()
    induction: str = "indicator"
    exact: bool = False
    conjunctions: Sequence[tuple[str, str]] = ()

    def __post_init__(self) -> None:
        for number in (self.bins, *self.numbers.values()):
            if not 1 <= number <= MOST_BINS:
                raise LuthierError(f"expected from 1 to {MOST_BINS} bins for a feature, found {number}")
        load_induction(self.induction)


def bins_of_grammar(grammar: Grammar, features: Sequence[str], options: BinOptions | None = None) -> Bins:
    """Cut features of rules; a rule counts once in each sentence's grammar it stands in, or once if there are none."""
    counted = "once in each sentence's grammar" if grammar.n_sentences else "once for each line"
    origin = {"rules": grammar.n_rules, "sentences": grammar.n_sentences, "counted": counted}
    return make_bins(grammar_counts(grammar, features), grammar.feature_names, options, origin=origin)


def bins_of_grammars(grammars: Iterable[Grammar], features: Sequence[str], options: BinOptions | None = None) -> Bins:
    """Cut features of the rules of one grammar for each sentence; a rule counts once in each it stands in."""
    parts: dict[str, list[ValueCounts]] = {name: [] for name in features}
    known: dict[str, None] = {}
    rules = sentences = 0
    for grammar in grammars:
        known |= dict.fromkeys(grammar.feature_names)
        names = [name for name in features if name in grammar.feature_names or name == TARGET_WORDS]
        for name, seen in grammar_counts(grammar, names).items():
            parts[name].append(seen)
        rules += grammar.n_rules
        sentences += 1
    counts = {name: merge_counts(seen) for name, seen in parts.items()}
    origin = {"rules": rules, "sentences": sentences, "counted": "once in each sentence's grammar"}
    return make_bins(counts, tuple(known), options, origin=origin)


def grammar_counts(grammar: Grammar, features: Sequence[str]) -> Counts:
    """Return the values of features over the rules of a grammar."""
    weights = rule_weights(grammar)
    counts = {}
    for name in features:
        rows, values = grammar_values(grammar, name)
        counts[name] = count_values(values, weights[rows])
    return counts


def bins_of_pool(
    pool: Pool,
    features: Sequence[str],
    options: BinOptions | None = None,
    *,
    scope: Scope = "local",
    by_use: bool = False,
) -> Bins:
    """Cut features of the rules in derivations, or with the scope "global" of whole hypotheses.

    A rule counts once for each sentence that has it in a derivation, or `by_use` for each use; a hypothesis once.
    """
    origin: dict[str, Any] = {"sentences": pool.n_sentences, "hypotheses": pool.n_hypotheses}
    if scope == "global":
        table, weights = pool.features, None
        origin["counted"] = "once for each hypothesis"
    else:
        if pool.derivations is None:
            raise LuthierError(NO_DERIVATIONS)
        table, weights = pool.derivations.features, use_weights(pool, by_use=by_use)
        if TARGET_WORDS in features:
            table = with_target_words(table, pool.derivations.texts)
        origin |= {"rules": len(table), "counted": "once for each use" if by_use else "once for each sentence"}
    counts = {}
    for name in features:
        rows, values = present_values(table, name)
        counts[name] = count_values(values, None if weights is None else weights[rows])
    taken = {*pool.features.names, *(pool.derivations.features.names if pool.derivations is not None else ())}
    return make_bins(counts, sorted(taken), options, scope=scope, origin=origin)


def make_bins(
    counts: Counts,
    known: Sequence[str],
    options: BinOptions | None = None,
    *,
    scope: Scope = "local",
    origin: Mapping[str, Any],
) -> Bins:
    """Cut features whose values were counted; `known` are the names that are in use already."""
    options = options or BinOptions()
    stray = sorted({*options.keep, *options.numbers} - set(counts))
    if stray:
        raise LuthierError(f"expected only features that are cut among those to keep or to count, found {stray[0]!r}")
    if TARGET_WORDS in options.keep and TARGET_WORDS not in known:
        raise LuthierError(
            f"there is no {TARGET_WORDS} to keep: it is counted. hint: a decoder's WordPenalty is its real-valued copy"
        )
    taken, made = set(known), []
    for name, seen in counts.items():
        wanted = options.numbers.get(name, options.bins)
        feature = bin_feature(name, seen, wanted, exact=options.exact, keep=name in options.keep, taken=taken)
        _warn(feature)
        taken.update(feature.names)
        made.append(feature)
    return Bins(tuple(made), scope, options.induction, options.exact, origin, tuple(options.conjunctions))


def _warn(feature: FeatureBins) -> None:
    """Say what is not as it was asked for."""
    if feature.n_values == 1:
        message = f"{feature.feature!r} is constant, {feature.lows[0]:g}: one bin, which counts rules"
    elif len(feature) < feature.wanted:
        message = f"{feature.feature!r} has {feature.n_values} values: as many bins, not {feature.wanted}"
    else:
        return
    warn(message, stacklevel=3)
