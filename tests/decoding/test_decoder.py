"""The decoder against all derivations: their number, the best, the order of lists, totals, models."""

import math

import numpy as np
import pytest
from slow_decoding import all_derivations, dot, parse_rule, random_grammar

from luthier.core.errors import LuthierError
from luthier.corpus.texts import Texts
from luthier.decoding.chart.options import SearchOptions
from luthier.decoding.decoder import Decoder
from luthier.grammar.reading import read_grammar
from luthier.lm.arpa_reading import read_arpa
from luthier.lm.model import LanguageModel
from plain_models import arpa_text, random_model, sentence_score

pytestmark = pytest.mark.compiled
EVERYTHING = SearchOptions(pops=100_000)
WEIGHTS = {
    "p": 0.7, "q": -0.3, "Glue": 0.11, "PassThrough": -1.3, "WordPenalty": 0.37, "Arity_0": 0.05, "Arity_1": -0.07,
    "Arity_2": 0.13, "LanguageModel": 0.9, "LanguageModel_OOV": -0.6, "LanguageModel_2": 0.4,
    "LanguageModel_2_OOV": 0.2,
}  # fmt: skip


def grammar_of(lines, folder):
    path = folder / "grammar"
    path.write_text("".join(f"{line}\n" for line in lines))
    return read_grammar(path)


def model_of(rng, order, folder):
    """Return a random model as a dictionary and opened."""
    plain = random_model(rng, order, 6)
    path = folder / f"{order}.arpa"
    path.write_text(arpa_text(plain))
    return plain, LanguageModel.from_arpa(read_arpa(path))


def model_features(models, words):
    """Return what plain models say of a translation, under the names of the decoder."""
    found = {}
    for k, plain in enumerate(models):
        name = "LanguageModel" if k == 0 else f"LanguageModel_{k + 1}"
        found[name] = math.fsum(sentence_score(plain, words))
        found[f"{name}_OOV"] = float(sum((w,) not in plain or w.startswith("<") for w in words))
    return found


def random_case(seed, folder, orders):
    """Return the lines of a grammar, a sentence, models as dictionaries, and a decoder that prunes nothing."""
    rng = np.random.default_rng(seed)
    lines = random_grammar(rng)
    sentence = " ".join(str(w) for w in rng.choice(["f", "g", "h"], p=[0.45, 0.45, 0.1], size=int(rng.integers(1, 6))))
    models = [model_of(rng, order, folder) for order in orders]
    decoder = Decoder(grammar_of(lines, folder), [opened for _, opened in models], EVERYTHING)
    return lines, sentence, [plain for plain, _ in models], decoder


def totals(derivations, models):
    """Return (score, words, features) of each derivation, the best first."""
    rows = []
    for derivation in derivations:
        features = {**derivation.features, **model_features(models, derivation.words)}
        rows.append((dot(features, WEIGHTS), derivation.words, features))
    return sorted(rows, key=lambda row: -row[0])


@pytest.mark.parametrize("orders", [(), (1,), (3,), (4, 2)])
@pytest.mark.parametrize("seed", range(6))
def test_lists_are_those_of_all_derivations(seed, orders, tmp_path):
    lines, sentence, models, decoder = random_case(seed, tmp_path, orders)
    expected = totals(all_derivations(lines, sentence), models)
    found = decoder.decode([sentence], WEIGHTS, k=len(expected) + 10)
    assert found.pool.n_hypotheses == len(expected)
    scores = found.pool.columns["score"]
    np.testing.assert_allclose(scores, [score for score, _, _ in expected], rtol=1e-9, atol=1e-9)
    assert sorted(found.pool.texts) == sorted(" ".join(words) for _, words, _ in expected)
    # every row is one of the derivations, with all its totals
    names = found.pool.features.names
    rows = sorted(tuple(np.round(row, 6) + 0.0) for row in found.pool.features.dense)
    wanted = sorted(tuple(round(f.get(name, 0.0), 6) + 0.0 for name in names) for _, _, f in expected)
    np.testing.assert_allclose(rows, wanted, atol=1e-5)


@pytest.mark.parametrize("seed", range(6))
def test_unique_lists_have_each_string_with_its_best_derivation(seed, tmp_path):
    lines, sentence, models, decoder = random_case(100 + seed, tmp_path, (3,))
    best = {}
    for score, words, _ in totals(all_derivations(lines, sentence), models):
        best.setdefault(" ".join(words), score)
    pool = decoder.decode([sentence], WEIGHTS, k=10_000, unique=True).pool
    assert dict(zip(pool.texts, pool.columns["score"], strict=True)) == pytest.approx(best, rel=1e-9, abs=1e-9)
    assert len(set(pool.texts)) == pool.n_hypotheses


@pytest.mark.parametrize("seed", range(4))
def test_spans_of_rules_are_limited_and_glue_reaches_over_all(seed, tmp_path):
    lines, _, _, _ = random_case(seed, tmp_path, ())
    sentence = "f g f g f g"
    decoder = Decoder(grammar_of(lines, tmp_path), [], SearchOptions(pops=100_000, max_span=2))
    expected = totals(all_derivations(lines, sentence, max_span=2), [])
    scores = decoder.decode([sentence], WEIGHTS, k=100_000).pool.columns["score"]
    np.testing.assert_allclose(scores, [score for score, _, _ in expected], rtol=1e-9, atol=1e-9)


def test_totals_are_those_of_the_rules_and_models_and_give_the_score(tmp_path):
    _, _, models, decoder = random_case(3, tmp_path, (3,))
    sentences = ["f g f", "", "g h f g f", "h h"]
    pool = decoder.decode(sentences, WEIGHTS, k=40).pool
    vector = np.array([WEIGHTS.get(name, 0.0) for name in pool.features.names])
    np.testing.assert_allclose(pool.scores(vector), pool.columns["score"], rtol=1e-9, atol=1e-12)
    derivations = pool.derivations
    local = np.column_stack([derivations.features.column(name) for name in derivations.features.names])
    whole = np.column_stack([pool.features.column(name) for name in derivations.features.names])
    for row in range(pool.n_hypotheses):
        uses = derivations.rules[derivations.offsets[row] : derivations.offsets[row + 1]]
        np.testing.assert_allclose(whole[row], local[uses].sum(axis=0), atol=1e-12)
        said = math.fsum(sentence_score(models[0], pool.texts[row].split()))
        assert pool.features.column("LanguageModel")[row] == pytest.approx(said, abs=1e-4)
    assert np.diff(pool.columns["score"][: pool.offsets[1]]).max() <= 0
    assert pool.list_lengths[1] == 0
    assert pool.sources == Texts.from_strings(sentences)


def test_trees_cover_the_sentence_and_no_derivation_comes_twice(tmp_path):
    _, _, _, decoder = random_case(5, tmp_path, (2,))
    pool = decoder.decode(["f g f g"], WEIGHTS, k=200).pool
    tree, offsets = pool.derivations.tree, pool.derivations.offsets
    seen = set()
    for row in range(pool.n_hypotheses):
        part = slice(offsets[row], offsets[row + 1])
        assert tree.spans[offsets[row]].tolist() == [0, 4]
        seen.add((pool.derivations.rules[part].tobytes(), tree.spans[part].tobytes(), tree.parents[part].tobytes()))
    assert len(seen) == pool.n_hypotheses


def test_the_same_bytes_for_any_number_of_threads_and_for_sentences_alone(tmp_path):
    _, _, _, decoder = random_case(7, tmp_path, (3,))
    sentences = ["f g f", "g g", "f h g f", "g f g f g", ""] * 3
    one = decoder.decode(sentences, WEIGHTS, k=20, threads=1)
    two = decoder.decode(sentences, WEIGHTS, k=20, threads=2)
    assert one.pool.digest() == two.pool.digest()
    alone = [decoder.decode([sentence], WEIGHTS, k=20).texts[0] for sentence in sentences]
    assert list(one.texts) == alone


def test_few_pops_give_scores_that_are_no_better_and_more_pops_no_fewer_edges(tmp_path):
    lines, _, _, _ = random_case(9, tmp_path, ())
    rng = np.random.default_rng(9)
    _, model = model_of(rng, 3, tmp_path)
    sentence = "f g f g f g f"
    best, edges = [], []
    for pops in (1, 3, 30, 100_000):
        decoder = Decoder(grammar_of(lines, tmp_path), [model], SearchOptions(pops=pops))
        decoded = decoder.decode([sentence], WEIGHTS, forests=True)
        best.append(decoded.pool.columns["score"][0])
        edges.append(decoded.forests[0].n_edges)
    assert max(best) == best[-1]
    assert edges[0] < edges[-1]


def test_a_long_sentence_ends_within_its_budget(tmp_path):
    lines, _, _, _ = random_case(9, tmp_path, ())
    decoder = Decoder(grammar_of(lines, tmp_path), [], SearchOptions(budget=9_500))
    sentence = " ".join(["f g h"] * 100)
    decoded = decoder.decode([sentence], WEIGHTS)
    report = decoded.reports[0]
    assert report.pops_of_cell == 9_500 // report.cells
    assert report.pops <= 9_500
    assert len(decoded.texts[0].split()) > 0


def test_a_search_out_of_time_still_translates(tmp_path):
    lines, _, _, _ = random_case(9, tmp_path, ())
    decoder = Decoder(grammar_of(lines, tmp_path), [], SearchOptions(seconds=0.0))
    decoded = decoder.decode(["f g f g"], WEIGHTS)
    assert decoded.reports[0].longest_span == 1
    assert len(decoded.texts[0].split()) >= 1
    patient = Decoder(grammar_of(lines, tmp_path), [], SearchOptions(seconds=1e9))
    assert patient.decode(["f g f g"], WEIGHTS).reports[0].longest_span == 4


def test_unknown_words_come_back_as_they_were(tmp_path):
    _, model = model_of(np.random.default_rng(2), 3, tmp_path)
    decoder = Decoder(grammar_of(["[X] ||| f [X,1] ||| [X,1] a ||| p=1 |||"], tmp_path), [model])
    decoded = decoder.decode(["x <s> ü </s>", "  ", "never"], WEIGHTS)
    assert list(decoded.texts) == ["x <s> ü </s>", "", "never"]
    assert decoded.pool.features.column("LanguageModel_OOV").tolist() == [4.0, 1.0]
    assert decoded.pool.features.column("PassThrough").tolist() == [4.0, 1.0]


def test_sparse_features_count_as_dense_ones_do(tmp_path):
    rng = np.random.default_rng(0)
    lines = [line.replace("p=", f"sparse{i}=0.5 p=") for i, line in enumerate(random_grammar(rng, 12))]
    names = [f"only{i}=1" for i in range(80)]
    lines += [f"[X] ||| {name[:-2]} ||| a ||| {name} ||| " for name in names]
    weights = {**WEIGHTS, **{f"sparse{i}": 0.01 * i for i in range(20)}}
    decoder = Decoder(grammar_of(lines, tmp_path), [], EVERYTHING)
    pool = decoder.decode(["f g f g"], weights, k=50).pool
    assert pool.features.n_dense < pool.n_features
    expected = sorted((dot(d.features, weights) for d in all_derivations(lines, "f g f g")), reverse=True)
    np.testing.assert_allclose(pool.columns["score"], expected[: pool.n_hypotheses], rtol=1e-9)
    vector = np.array([weights.get(name, 0.0) for name in pool.features.names])
    np.testing.assert_allclose(pool.scores(vector), pool.columns["score"], rtol=1e-9)


def test_weights_that_are_missing_or_unknown_are_said_once(tmp_path):
    from luthier.core.progress import speaking

    _, _, _, decoder = random_case(2, tmp_path, ())
    said = []
    with speaking(None, said.append):
        list(decoder.translate(["f g", "g"], {"p": 1.0, "other": 2.0}))
    missing, unknown = said
    assert missing.startswith("7 features have no weight, which counts 0: 'q', 'Glue', 'PassThrough', 'WordPenalty',")
    assert unknown == "1 weights are of no feature of the search, and are not used: 'other'"


@pytest.mark.parametrize(
    ("weights", "words"),
    [
        ({"p": math.nan}, "expected a finite weight for 'p', found nan"),
        ({"p": math.inf}, "expected a finite weight for 'p', found inf"),
        ({"p": 0.0, "other": 1.0}, "expected a weight other than 0 for a feature of the search"),
        ({"p": 1e308}, "expected weights under which scores stay finite"),
    ],
)
def test_weights_that_cannot_be_used(weights, words, tmp_path):
    decoder = Decoder(grammar_of(["[X] ||| f ||| a ||| p=3 |||"], tmp_path))
    with pytest.raises(LuthierError, match=words):
        decoder.decode(["f"], weights)


def test_a_grammar_of_other_sentences_or_with_our_names_is_refused(tmp_path):
    with pytest.raises(LuthierError, match="without the feature 'Glue', which the decoder counts itself"):
        Decoder(grammar_of(["[X] ||| f ||| a ||| Glue=1 |||"], tmp_path))


def test_rules_are_what_their_lines_say(tmp_path):
    lines, _, _, decoder = random_case(4, tmp_path, ())
    table = decoder.prepare(["f h"]).table
    texts = [text.split(" ||| ") for text in table.texts][: len(lines)]
    found = {(source, target.strip()) for _, source, target in (row if len(row) == 3 else (*row, "") for row in texts)}
    assert found == {(" ".join(rule.source), " ".join(rule.target)) for rule in map(parse_rule, lines)}
    assert list(table.texts)[len(lines) :] == [
        "[S] ||| [X,1] ||| [X,1]", "[S] ||| [S,1] [X,2] ||| [S,1] [X,2]", "[Goal] ||| [S,1] ||| [S,1]",
        "[X] ||| f ||| f", "[X] ||| h ||| h",
    ]  # fmt: skip
