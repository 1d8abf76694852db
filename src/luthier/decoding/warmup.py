"""Small jobs that reach the kernels of this room, for `luthier.jobs.warm`."""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np

from luthier.corpus.texts import Texts
from luthier.decoding.decoder import Decoder
from luthier.decoding.forests.hypergraph import Hypergraph, RuleTable
from luthier.decoding.forests.lines import ForestLines
from luthier.decoding.lazy_kbest import k_best
from luthier.grammar.reading import read_grammar
from luthier.kbest.features import Features
from luthier.lm.estimate import EstimateOptions, estimate_lm
from luthier.lm.model import LanguageModel


def _forests() -> None:
    features = Features.from_dense(["length"], [[1.0], [1.0], [0.0]])
    rules = RuleTable(
        np.array([0, 1, 2, 4]), np.array([0, 1, -1, -2]), Texts.from_strings(["a", "b"]), features,
        Texts.from_strings(["A", "B", "[X,1] [X,2]"]), ("lm",),
    )  # fmt: skip
    tails = [[-1, -1], [-1, -1], [-1, -1], [0, 1]]
    spans = [[0, 1], [1, 2], [0, 2]]
    forest = Hypergraph(
        np.array([0, 1, 3, 4]), np.array(tails), np.array([0, 0, 1, 2]), np.zeros((4, 1)), np.array([0, 0, 2]),
        np.array(spans),
    )  # fmt: skip
    forest.check_rules(rules)
    forest.pruned()
    for unique in (False, True):
        k_best(forest, np.zeros(4), rules, 5, unique=unique)
    lines = ForestLines([forest], rules)
    lines.envelopes(np.ones(2), np.eye(2))
    lines.texts(0)
    assert lines.spread.shape == (2,)


def _search() -> None:
    rules = [f"[X] ||| {s} [X,1] ||| [X,1] {s} ||| p=1 s{i}=1 |||\n" for i, s in enumerate(map(str, range(80)))]
    model = LanguageModel.from_arpa(estimate_lm(["1 2 3", "2 3"], EstimateOptions(order=3)).model)
    with tempfile.TemporaryDirectory() as name:
        path = Path(name, "grammar")
        path.write_text("".join(rules), encoding="utf-8")
        decoder = Decoder(read_grammar(path), [model])
    decoder.decode(["1 2 3"], {"p": 1.0}, k=3, sizes=True)


JOBS = (_forests, _search)
