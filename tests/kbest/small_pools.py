"""Small pools from plain Python: lists of (text, feature vector), with values that tie."""

from __future__ import annotations

import dataclasses

import numpy as np
from hypothesis import strategies as st

from luthier.corpus.texts import Texts
from luthier.corpus.vocab import Interner, tokenize
from luthier.kbest.derivations import Derivations, Tree
from luthier.kbest.features import Features
from luthier.kbest.groups import FeatureGroup
from luthier.kbest.pool import Pool, References, Statistics

NAMES = ("lm", "tm_0", "tm_1", "word penalty", "a=b", "|||", "😀")


def make_features(rows, names, *, sparse=0, costs=()):
    """Return the features of rows of numbers, the last `sparse` of them stored sparsely."""
    values = np.array(rows, dtype=np.float64).reshape(len(rows), len(names))
    n_dense = len(names) - sparse
    tail = values[:, n_dense:]
    where = np.nonzero(tail)
    indptr = np.concatenate([[0], np.cumsum(np.count_nonzero(tail, axis=1))])
    return Features(tuple(names), values[:, :n_dense], indptr, where[1], tail[where], frozenset(costs))


def make_pool(lists, names=NAMES[:3], *, sparse=0, ids=None, refs=None, **parts):
    """Return the pool of lists of (text, features); `refs` are lists of texts, one for each sentence."""
    rows = [row for rows in lists for row in rows]
    ids = [str(i) for i in range(len(lists))] if ids is None else ids
    vocab = Interner()
    texts = Texts.from_strings(text for text, _ in rows)
    tokens = tokenize(texts, vocab)
    references = None
    if refs is not None:
        flat = Texts.from_strings(text for some in refs for text in some)
        references = References(np.cumsum([0, *map(len, refs)]), flat, tokenize(flat, vocab))
    return Pool(
        offsets=np.cumsum([0, *map(len, lists)]),
        features=make_features([features for _, features in rows], names, sparse=sparse),
        sentence_ids=Texts.from_strings(ids),
        texts=texts,
        tokens=tokens,
        vocab=vocab.texts(),
        references=references,
        **parts,
    )


def full_pool(**changes):
    """Return a pool that has every part a pool can have."""
    lists = [[("a b", (1.5, 0, -2)), ("a b", (1, 0, 3))], [], [("c\u00a0d", (0, -0.0, 1e-300))]]
    names = ("x y", "a=b ||| 😀", "new\nline")
    pool = make_pool(lists, names, sparse=1, ids=["utt-1", "", "ü ||| 3"], refs=[["a b", "b"], ["c"], ["", "d", "e"]])
    rules = make_features([(1, 0), (2, 5)], ("p", "local name"), sparse=1)
    derivations = Derivations(
        np.array([0, 2, 2, 3]),
        np.array([0, 1, 1]),
        Texts.from_strings(["X → a", "X → b"]),
        rules,
        Tree(np.array([-1, 0, -1]), np.array([[0, 3], [1, 3], [0, 2]])),
    )
    counts = Statistics(("edits", "length"), np.arange(6).reshape(3, 2))
    means = Statistics(("sum",), np.array([[0.1], [0.2], [0.3]]))
    parts = {
        "features": pool.features.call_costs(["new\nline"]).group([FeatureGroup("x", ("new\nline", "x y"))]),
        "sources": Texts.from_strings(["q", "", "r s"]),
        "derivations": derivations,
        "columns": {"score": np.array([1.0, -2.0, 0.5]), "com\net": np.array([0.1, 0.2, 0.3])},
        "stats": {"ter|v:1": counts, "given": means},
        "provenance": {"lists": [{"path": "ü", "hypotheses": 3}], "operations": []},
    }
    return dataclasses.replace(pool, **{**parts, **changes})


small_integers = st.integers(-2, 2).map(float)
words = st.sampled_from(["", "a", "b", "a b", "b a", "a  b"])


@st.composite
def small_lists(draw, n_features=3, max_sentences=5, max_rows=6):
    """Draw lists of (text, features) with small integers, so that ties and repeats happen."""
    row = st.tuples(words, st.tuples(*[small_integers] * n_features))
    return draw(st.lists(st.lists(row, max_size=max_rows), min_size=1, max_size=max_sentences))


def content(pool):
    """Return a pool as plain lists: id → [(text, {feature: value other than 0})]."""
    columns = {name: pool.features.column(name).tolist() for name in pool.features.names}
    rows = [
        (text, {name: column[r] for name, column in columns.items() if column[r] != 0})
        for r, text in enumerate(pool.texts)
    ]
    bounds = pool.offsets.tolist()
    return {ident: rows[bounds[i] : bounds[i + 1]] for i, ident in enumerate(pool.sentence_ids)}


def assert_same(one, other):
    """Two pools are the same to the last bit, provenance included."""
    first, second = one.arrays(), other.arrays()
    assert list(first) == list(second)
    for name in first:
        assert first[name].dtype == second[name].dtype, name
        assert first[name].shape == second[name].shape, name
        assert first[name].tobytes() == second[name].tobytes(), name
    assert one.features.names == other.features.names
    assert one.features.costs == other.features.costs
    assert one.features.groups == other.features.groups
    assert {name: part.names for name, part in one.stats.items()} == {
        name: part.names for name, part in other.stats.items()
    }
    if one.derivations is not None:
        assert one.derivations.features.names == other.derivations.features.names
    assert one.provenance == other.provenance
    assert one.digest() == other.digest()
