"""Bins in the decoder: as with a rewritten grammar, and as induced in lists, score by score and string by string."""

import io

import numpy as np
import pytest

from luthier.decoding.chart.options import SearchOptions
from luthier.decoding.decoder import Decoder
from luthier.features.fit_bins import BinOptions, bins_of_grammar
from luthier.features.induction import induce_pool
from luthier.features.rewrite_grammar import Rewriter, rewrite_grammar
from luthier.grammar.reading import read_grammar
from luthier.lm.arpa_reading import read_arpa
from luthier.lm.model import LanguageModel
from plain_models import arpa_text, random_model

pytestmark = [pytest.mark.compiled, pytest.mark.filterwarnings("ignore::luthier.core.errors.LuthierWarning")]
WORDS = ["f", "g", "h", "unseen"]
K = 40


@pytest.fixture(scope="module")
def case(tmp_path_factory):
    """Return a grammar's path, a model and sentences; some rules have no p, some have p = 0."""
    folder, rng = tmp_path_factory.mktemp("bins"), np.random.default_rng(8)
    lines = []
    for source in ("f", "g", "h", "f g", "g [X,1]", "[X,1] f [X,2]", "h [X,1] g"):
        for k in range(5):
            target = " ".join([*rng.choice(["a", "b", "c"], k % 3 + 1), *(s for s in source.split() if "[" in s)])
            features = {"P": float(rng.integers(0, 9)) / 9, "C": float(rng.integers(1, 40)), "other": float(k)}
            if k == 4:
                del features["P"]
            text = " ".join(f"{name}={value:.12g}" for name, value in features.items())
            lines.append(f"[X] ||| {source} ||| {target} ||| {text} ||| 0-0\n")
    path = folder / "grammar"
    path.write_text("".join(dict.fromkeys(lines)))
    arpa = folder / "model.arpa"
    arpa.write_text(arpa_text(random_model(rng, 2, 3)))
    sentences = [" ".join(rng.choice(WORDS, n)) for n in (1, 3, 5, 6)]
    return path, LanguageModel.from_arpa(read_arpa(arpa)), sentences


@pytest.mark.parametrize(
    "options",
    [
        BinOptions(bins=4, keep=["P"], conjunctions=[("P", "C")]),
        BinOptions(bins=3, induction="overlapping"),
        BinOptions(bins=3, induction="hat"),
    ],
    ids=["conjoined", "overlapping", "hat"],
)
def test_the_rewritten_grammar_gives_the_same_scores_and_strings(case, options, tmp_path):
    path, model, sentences = case
    grammar = read_grammar(path)
    bins = bins_of_grammar(grammar, ["P", "C", "TargetWords"], options)
    inside = Decoder(grammar, [model], SearchOptions(), bins=bins)
    out = io.BytesIO()
    rewrite_grammar(path, Rewriter(bins), out)
    (tmp_path / "rewritten").write_bytes(out.getvalue())
    outside = Decoder(read_grammar(tmp_path / "rewritten"), [model], SearchOptions())
    rng = np.random.default_rng(2)
    weights = {name: float(rng.normal()) for name in inside.feature_names}
    a, b = (decoder.decode(sentences, weights, k=K).pool for decoder in (inside, outside))
    assert a.n_hypotheses == b.n_hypotheses > 2 * K
    scores = a.columns["score"]
    np.testing.assert_allclose(scores, b.columns["score"], rtol=1e-10)
    # features are summed in another order, so what ties but for rounding may stand in another
    gaps = np.abs(np.diff(scores)) > 1e-9
    alone = np.flatnonzero(np.append(gaps, True) & np.append(True, gaps))
    assert len(alone) > a.n_hypotheses // 4
    assert [a.texts[r] for r in alone] == [b.texts[r] for r in alone]
    for name in b.features.names:
        columns = (pool.features.column(name)[alone] for pool in (a, b))
        np.testing.assert_allclose(*columns, rtol=1e-10, atol=1e-10)
    assert {name for name in a.features.names if name not in b.features.names} <= set(bins.names)  # fired by no rule
    assert a.features.groups == bins.groups


def test_lists_that_are_induced_have_the_vectors_of_the_search(case):
    path, model, sentences = case
    grammar = read_grammar(path)
    bins = bins_of_grammar(grammar, ["P", "C", "TargetWords"], BinOptions(bins=4, conjunctions=[("C", "TargetWords")]))
    # under weights of other features both searches find the same lists
    weights = {"other": 0.5, "WordPenalty": 0.3, "Glue": -0.2, "PassThrough": -1.0, "LanguageModel": 0.8}
    plain = Decoder(grammar, [model]).decode(sentences, weights, k=K).pool
    binned = Decoder(grammar, [model], bins=bins).decode(sentences, weights, k=K).pool
    assert list(plain.texts) == list(binned.texts)
    induced = induce_pool(plain, bins)
    assert set(induced.features.names) == set(binned.features.names)
    for name in binned.features.names:
        np.testing.assert_allclose(induced.features.column(name), binned.features.column(name), rtol=1e-12, atol=1e-12)
    assert sum(binned.features.column(name).sum() for name in bins.features[0].names) > K
    local = plain.derivations.features
    assert local.n_dense == 0
    has = np.diff(np.searchsorted(np.flatnonzero(local.indices == local.index("P")), local.indptr))
    texts = list(plain.derivations.texts)
    assert {texts[r][:3] for r in np.flatnonzero(has)} == {"[X]"}
    assert (local.column("P")[has > 0] == 0).any()  # a value of 0 is there, glue has none
    assert not has[[r for r, text in enumerate(texts) if text.startswith(("[S]", "[Goal]"))]].any()
