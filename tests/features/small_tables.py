"""Small tables of rules and pools with derivations, from plain Python."""

from __future__ import annotations

import numpy as np

from luthier.corpus.texts import Texts
from luthier.corpus.vocab import Interner, tokenize
from luthier.kbest.derivations import Derivations, unique_rules
from luthier.kbest.features import Features
from luthier.kbest.pool import Pool


def rule_features(rules):
    """Return the sparse features of rules that are dictionaries; a value of 0 is an entry."""
    names = tuple(dict.fromkeys(name for rule in rules for name in rule))
    entries = [sorted((names.index(name), value) for name, value in rule.items()) for rule in rules]
    flat = [entry for row in entries for entry in row]
    return Features(
        names,
        np.empty((len(rules), 0)),
        np.cumsum([0, *map(len, entries)]),
        np.array([column for column, _ in flat], dtype=np.int32),
        np.array([value for _, value in flat], dtype=np.float64),
    )


def pool_of(lists, **parts):
    """Return the pool of lists of derivations; a derivation is a list of rules (text, features) or of features."""
    rows = [row for rows in lists for row in rows]
    uses = [rule if isinstance(rule, tuple) else ("r", rule) for row in rows for rule in row]
    table = unique_rules(
        np.cumsum([0, *map(len, rows)]),
        np.arange(len(uses)),
        Texts.from_strings(text for text, _ in uses),
        rule_features([features for _, features in uses]),
    )
    sums = [summed(features for _, features in map(as_pair, row)) for row in rows]
    names = tuple(dict.fromkeys(name for row in sums for name in row))
    dense = np.array([[row.get(name, 0.0) for name in names] for row in sums]).reshape(len(rows), len(names))
    vocab, texts = Interner(), Texts.from_strings(f"h{k}" for k in range(len(rows)))
    return Pool(
        offsets=np.cumsum([0, *map(len, lists)]),
        features=Features.from_dense(names, dense),
        sentence_ids=Texts.from_strings(str(i) for i in range(len(lists))),
        texts=texts,
        tokens=tokenize(texts, vocab),
        vocab=vocab.texts(),
        derivations=Derivations(table.offsets, table.rules, table.texts, table.features),
        **parts,
    )


def as_pair(rule):
    return rule if isinstance(rule, tuple) else ("r", rule)


def summed(rules):
    out = {}
    for rule in rules:
        for name, value in rule.items():
            out[name] = out.get(name, 0.0) + value
    return out


def vectors(features):
    """Return each row of a table as a dictionary without zeros."""
    rows = []
    for r in range(len(features)):
        row = {name: value for name, value in zip(features.names, features.dense[r].tolist(), strict=False) if value}
        for e in range(features.indptr[r], features.indptr[r + 1]):
            if features.values[e]:
                row[features.names[features.n_dense + features.indices[e]]] = float(features.values[e])
        rows.append(row)
    return rows
