"""A planted log response in lists of our own decoder on the synthetic pair: bins of raw probabilities find it."""

import dataclasses

import numpy as np
import pytest

from luthier.corpus.texts import Texts
from luthier.decoding.decoder import Decoder
from luthier.features.curves import curves
from luthier.features.fit_bins import BinOptions, bins_of_grammar
from luthier.features.induction import induce_pool
from luthier.grammar.extraction.extract import extract
from luthier.grammar.model import read_model
from luthier.kbest.weights import Weights
from luthier.landscape.list_problem import ListProblem
from luthier.metrics.loading import load_metric
from luthier.synthetic.pair.pair import PairGenerator
from luthier.tuning.base import tuner
from luthier.tuning.run import run

P, OWN = "P_EgivenFCoherent", ("WordPenalty", "Glue", "PassThrough")
ROUND = {"gains": "sentence", "psi": 1.0, "iterations": 1, "keep": "last"}


@pytest.fixture(scope="module")
def grammar_and_lists(tmp_path_factory):
    """Return the rules for some sentences, and their lists with a column of planted worths."""
    generator, links = PairGenerator(), tmp_path_factory.mktemp("pair") / "links"
    pairs = list(generator.pairs("train", 600, 0))
    links.write_text("".join(" ".join(f"{i}-{j}" for i, j in pair.links) + "\n" for pair in pairs))
    model, _ = read_model([str(p.source) for p in pairs], [str(p.references[0]) for p in pairs], links)
    sentences = Texts.from_strings([str(pair.source) for pair in generator.pairs("tune", 80, 0)])
    grammar = extract(model, sentences, features=("raw",)).select_features([P])
    weights = {P: 1.0, "WordPenalty": -1.0, "Glue": -0.1, "PassThrough": -5.0}
    pool = Decoder(grammar).decode(sentences, weights, k=60, unique=True).pool
    pool = pool.with_features(pool.features.select([name for name in pool.features.names if name in (P, *OWN)]))
    return grammar, dataclasses.replace(pool, columns={"worth": worths(pool)})


def worths(pool):
    """Return Σ log P over the rules of each hypothesis, with noise, on 0–100; means of lists are 50."""
    local, derivations = pool.derivations.features, pool.derivations
    value = local.column(P)
    logs = np.log(np.where(value > 0, value, 1.0))
    planted = np.array([
        logs[derivations.rules[a:b]].sum()
        for a, b in zip(derivations.offsets, derivations.offsets[1:], strict=False)
    ])  # fmt: skip
    planted += np.random.default_rng(0).normal(size=len(planted))
    means = np.add.reduceat(planted, pool.offsets[:-1]) / pool.list_lengths
    return np.clip(50.0 + 4.0 * (planted - np.repeat(means, pool.list_lengths)), 0.0, 100.0)


@pytest.mark.slow
@pytest.mark.compiled
@pytest.mark.parametrize("kind", ["lnr", "mnr"])
def test_the_logarithm_is_learned_from_what_the_decoder_counts(grammar_and_lists, kind):
    grammar, pool = grammar_and_lists
    bins = bins_of_grammar(grammar, [P], BinOptions(bins=16))
    metric = load_metric("column:worth")
    problem = ListProblem.of(induce_pool(pool, bins), metric)
    found = run(tuner("pro", neighbours=kind, beta=1e3, **ROUND), problem, np.zeros(problem.n_features))
    (curve,) = curves(bins, Weights.from_vector(problem.names, found.weights))
    assert curve.log.r2 >= 0.95
    assert curve.log.r2 > curve.line.r2 + 0.2
    assert curve.rises
