"""The examples of [clark2014]: hypotheses of few rules that linear weights cannot order, and weights of bins can."""

from __future__ import annotations

import numpy as np

from luthier.core.errors import LuthierError, unwarned
from luthier.corpus.texts import Texts
from luthier.corpus.vocab import Interner, tokenize
from luthier.features.bins import Bins
from luthier.features.fit_bins import bins_of_pool
from luthier.kbest.derivations import Derivations, unique_rules
from luthier.kbest.features import Features
from luthier.kbest.pool import Pool

WORTH = "worth"
Rules = tuple[tuple[str, float], ...]
# Of each sentence the better hypothesis and the worse one; a rule is a feature and its value.
EXAMPLES: dict[str, tuple[tuple[Rules, Rules], ...]] = {
    "figure4": (
        ((("H", 1.0), ("H", 1.0)), (("H", 2.0), ("H", 2.0))),
        ((("H", 3.0), ("H", 3.0)), (("H", 2.0), ("H", 2.0))),
    ),
    "figure5": (((("H", 2.0), ("H", 2.0)), (("H", 4.0),)),),
    "figure6": (
        ((("B", 1.0),), (("A", 1.0), ("A", 1.0))),
        ((("A", 1.0), ("A", 1.0), ("B", 1.0)), (("A", 0.0),)),
        ((("B", -4.0), ("B", 1.0), ("B", 1.0), ("B", 1.0)), (("A", 1.0),)),
        ((("B", -4.0), ("A", 1.0)), (("B", 1.0), ("B", 1.0))),
    ),
}


def example(name: str) -> tuple[Pool, dict[str, Bins]]:
    """Return the lists of a figure of the paper, and global and local bins of its features, one for each value.

    >>> pool, bins = example("figure5")
    >>> pool.features.dense.tolist(), list(bins), bins["local bins"].names
    ([[4.0], [4.0]], ['global bins', 'local bins'], ('H_2', 'H_4'))
    """
    if name not in EXAMPLES:
        raise LuthierError(f"expected an example, {', '.join(EXAMPLES)}, found {name!r}")
    pool = _pool(EXAMPLES[name])
    with unwarned():  # of few values
        found = {
            f"{scope} bins": bins_of_pool(pool, list(pool.features.names), scope=scope) for scope in ("global", "local")
        }
    return pool, found


def _pool(pairs: tuple[tuple[Rules, Rules], ...]) -> Pool:
    rows = [rules for pair in pairs for rules in pair]
    uses = [use for rules in rows for use in rules]
    names = tuple(sorted({feature for feature, _ in uses}))
    table = unique_rules(
        np.cumsum([0, *map(len, rows)]),
        np.arange(len(uses)),
        Texts.from_strings(f"{feature} {value:g}" for feature, value in uses),
        Features(
            names,
            np.empty((len(uses), 0)),
            np.arange(len(uses) + 1),
            np.array([names.index(feature) for feature, _ in uses], np.int32),
            np.array([value for _, value in uses]),
        ),
    )
    sums = [[sum(value for feature, value in rules if feature == name) for name in names] for rules in rows]
    vocab = Interner()
    texts = Texts.from_strings(
        "{" + ", ".join(f"{feature} {value:g}" for feature, value in rules) + "}" for rules in rows
    )
    return Pool(
        offsets=2 * np.arange(len(pairs) + 1),
        features=Features.from_dense(names, np.array(sums, np.float64)),
        sentence_ids=Texts.from_strings(str(i + 1) for i in range(len(pairs))),
        texts=texts,
        tokens=tokenize(texts, vocab),
        vocab=vocab.texts(),
        columns={WORTH: np.tile([100.0, 0.0], len(pairs))},
        derivations=Derivations(table.offsets, table.rules, table.texts, table.features),
    )
