"""Small jobs that reach the kernels of aligners, language models, grammars, bins and the decoder."""

from __future__ import annotations

import io
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from luthier.alignment.aligner import align, apply_model
from luthier.alignment.base import PACKAGE
from luthier.alignment.links import read_links, write_links
from luthier.alignment.model import open_model as open_aligner
from luthier.alignment.model import save_model as save_aligner
from luthier.core.plugins import available
from luthier.corpus.texts import Texts
from luthier.decoding.decoder import Decoder
from luthier.decoding.forests.hypergraph import Hypergraph, RuleTable
from luthier.decoding.forests.lines import ForestLines
from luthier.decoding.lazy_kbest import k_best
from luthier.features.bins import cut_values
from luthier.features.counts import TARGET_WORDS, with_target_words
from luthier.features.fit_bins import bins_of_grammar
from luthier.features.rewrite_grammar import Rewriter, rewrite_grammar
from luthier.grammar._trie_kernels import rehash
from luthier.grammar.extraction.extract import extract
from luthier.grammar.extraction.leave_one_out import extract_held_out
from luthier.grammar.extraction.options import Limits
from luthier.grammar.model import open_model, read_model, save_model
from luthier.grammar.reading import read_grammar
from luthier.grammar.storage import open_grammar, save_grammar
from luthier.grammar.writing import write_grammar
from luthier.kbest.features import Features
from luthier.lm.arpa import write_arpa
from luthier.lm.estimate import EstimateOptions, estimate_lm
from luthier.lm.model import LanguageModel, append, begin, join, key, new_states
from luthier.lm.storage import open_lm

TEXT = (["a b c", "b c", "c a"], ["x y z", "y z", "z x"])


def _align() -> None:
    for name in available(PACKAGE):
        options: dict[str, Any] = {"optimize_tension": True} if name == "diagonal" else {}
        done = align(*TEXT, name, passes=3, **options)
        apply_model(done.model, *TEXT)
    with tempfile.TemporaryDirectory() as folder:
        save_aligner(done.model, Path(folder, "model"))
        apply_model(open_aligner(Path(folder, "model")), *TEXT)
        write_links(done.symmetrized(), Path(folder, "links"))
        read_links(Path(folder, "links"))


def _models() -> None:
    texts = ["a b c a b", "b c a", "c c d"]
    with tempfile.TemporaryDirectory() as name:
        path = Path(name, "lm.arpa")
        write_arpa(estimate_lm(texts, EstimateOptions(order=3)).model, path)
        open_lm(path)
        model = open_lm(path)  # from the file that the first opening left
    model.score(texts)
    states = new_states(2, model.order)
    begin(model, states, 0)
    append(model, states, 1, 3)
    join(model, states, 0, states, 1)
    key(states, 0)


MOSES = "a [X][X] b [X] ||| c [X][X] [X] ||| 0.5 1 ||| 0-0 1-1 ||| 1 2\n"


def _extract_rules() -> None:
    texts = ["a b c a b d", "b c a", "c c d"] * 300  # enough for the arrays to grow
    with tempfile.TemporaryDirectory() as name:
        links = Path(name, "links")
        links.write_text("0-0 1-1 2-2\n" * len(texts), encoding="utf-8")
        model, _ = read_model(texts, texts, links)
        save_model(model, Path(name, "model"))
        model = open_model(Path(name, "model"))
        extract(model, Texts.from_strings(texts), Limits(tight=False))
        grammar, _ = extract_held_out(model, Texts.from_strings(texts[:2]))
        save_grammar(grammar, Path(name, "grammar"))
        write_grammar(open_grammar(Path(name, "grammar")), Path(name, "text.gz"))
        read_grammar(Path(name, "text.gz")).trie.child(0, 1)
        Path(name, "moses").write_text(MOSES, encoding="utf-8")
        read_grammar(Path(name, "moses"))


def _growth() -> None:
    keys, nodes = np.full(8, -1, np.int64), np.full(8, -1, np.int32)
    rehash(keys, nodes, np.full(16, -1, np.int64), np.full(16, -1, np.int32))  # only long texts need it


RULES = "[X] ||| a ||| b c ||| p=1 ||| 0-0\n[X] ||| b ||| c ||| p=2 ||| 0-0\n"


def _bins() -> None:
    for exact in (False, True):
        cut_values(np.array([1, 2, 3]), 2, exact=exact)


def _rules() -> None:
    with tempfile.TemporaryDirectory() as name:
        path = Path(name, "grammar")
        path.write_text(RULES, encoding="utf-8")
        bins = bins_of_grammar(read_grammar(path), ["p", TARGET_WORDS])
        rewrite_grammar(path, Rewriter(bins), io.BytesIO())
    with_target_words(Features.from_dense((), np.zeros((1, 0))), Texts.from_strings(["[X] ||| a ||| b"]))


def _forests() -> None:
    features = Features.from_dense(["length"], [[1.0], [1.0], [0.0]])
    rules = RuleTable(
        np.array([0, 1, 2, 4]),
        np.array([0, 1, -1, -2]),
        Texts.from_strings(["a", "b"]),
        features,
        Texts.from_strings(["A", "B", "[X,1] [X,2]"]),
        ("lm",),
    )
    tails = [[-1, -1], [-1, -1], [-1, -1], [0, 1]]
    spans = [[0, 1], [1, 2], [0, 2]]
    forest = Hypergraph(
        np.array([0, 1, 3, 4]),
        np.array(tails),
        np.array([0, 0, 1, 2]),
        np.zeros((4, 1)),
        np.array([0, 0, 2]),
        np.array(spans),
    )
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


JOBS = {
    "alignment": (_align,),
    "lm": (_models,),
    "grammar": (_extract_rules, _growth),
    "features": (_bins, _rules),
    "decoding": (_forests, _search),
}
