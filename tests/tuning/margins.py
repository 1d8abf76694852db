"""Small problems of texts with several references, and what every tuner must keep to."""

import pickle

import numpy as np

from luthier.core.segments import offsets_from_counts
from luthier.corpus.texts import Texts
from luthier.corpus.vocab import Interner, tokenize
from luthier.kbest.features import Features
from luthier.kbest.pool import Pool, References
from luthier.landscape.bounds import Bounds
from luthier.landscape.list_problem import ListProblem
from luthier.metrics.loading import load_metric
from luthier.tuning.base import tuner

WORDS = list("abcdefg")


def text_pool(seed=0, *, sentences=7, k=6, features=4, sparse=0, refs=2):
    """Return a pool of noisy copies of references; the last `sparse` features are stored sparsely.

    Feature 0 counts words that were kept, so that some weights are good; the others are small integers.
    """
    rng = np.random.default_rng(seed)
    texts, rows, references = [], [], []
    for _ in range(sentences):
        truth = rng.choice(WORDS, size=int(rng.integers(5, 9)))
        references += [" ".join(truth), *(" ".join(rng.permutation(truth)) for _ in range(refs - 1))]
        for _ in range(k):
            kept = rng.random(len(truth)) < 0.7
            texts.append(" ".join(np.where(kept, truth, rng.choice(WORDS, len(truth)))[: int(rng.integers(4, 9))]))
            rows.append([kept.sum(), *rng.integers(-2, 3, features - 1)])
    vocab = Interner()
    hyps, ref_texts = Texts.from_strings(texts), Texts.from_strings(references)
    tokens, ref_tokens = tokenize(hyps, vocab), tokenize(ref_texts, vocab)
    return Pool(
        offsets=offsets_from_counts([k] * sentences),
        features=split_features(np.array(rows, dtype=float), sparse),
        sentence_ids=Texts.from_strings([str(i) for i in range(sentences)]),
        texts=hyps,
        tokens=tokens,
        vocab=vocab.texts(),
        references=References(offsets_from_counts([refs] * sentences), ref_texts, ref_tokens),
        columns={"worth": rng.integers(0, 101, len(texts)).astype(float)},
    )


def split_features(rows, sparse):
    """Return features whose last `sparse` columns are stored sparsely."""
    n_dense = rows.shape[1] - sparse
    tail = rows[:, n_dense:]
    where = np.nonzero(tail)
    indptr = np.concatenate([[0], np.cumsum(np.count_nonzero(tail, axis=1))])
    names = tuple(f"f{d}" for d in range(rows.shape[1]))
    return Features(names, rows[:, :n_dense], indptr, where[1], tail[where])


def text_problem(metric="bleu", *, bounds=None, **shape):
    return ListProblem.of(text_pool(**shape), load_metric(metric), bounds=bounds)


def feature_rows(problem):
    """Return all features as one array, (M, D)."""
    features = problem.pool.features
    return np.stack([features.column(name) for name in features.names], axis=1)


def run_states(name, problem, start=None, seed=0, **parameters):
    start = problem.default_start() if start is None else np.asarray(start, dtype=float)
    return list(tuner(name, **parameters).steps(problem, start, np.random.default_rng(seed)))


def check_tuner(name, metric="bleu", sparse=0, **parameters):
    """Run a tuner within bounds; check what every tuner must keep to, and return its last state."""
    bounds = Bounds(np.array([0.0, -0.5, 0.25, -np.inf]), np.array([np.inf, 0.5, 0.25, np.inf]))
    problem = text_problem(metric, bounds=bounds, sparse=sparse)
    start = np.array([0.1, -0.5, 0.25, 1.0])
    before = start.copy()
    states = run_states(name, problem, start, seed=3, **parameters)
    assert np.array_equal(start, before)
    assert np.array_equal(states[0].weights, start)
    assert all(problem.bounds.allow(state.weights) for state in states)
    assert [problem.gain(state.weights) for state in states] == [state.gain for state in states]
    again = run_states(name, problem, start, seed=3, **parameters)
    assert [s.weights.tobytes() for s in states] == [s.weights.tobytes() for s in again]
    method = tuner(name, **parameters)
    assert pickle.loads(pickle.dumps(method)) == method
    assert pickle.loads(pickle.dumps(states[-1])).gain == states[-1].gain
    if method.monotone:
        assert states[-1].gain >= states[0].gain
    return states[-1]
