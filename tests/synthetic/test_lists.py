"""Synthetic lists: what they promise to tests and benchmarks."""

import dataclasses
import gzip
import itertools
import json

import numpy as np
import pytest
import sacrebleu

from luthier.core.errors import LuthierError
from luthier.core.params import ParameterError
from luthier.core.rng import make_rng
from luthier.corpus.vocab import Interner, tokenize
from luthier.kbest.rerank import rerank, selected_texts
from luthier.kbest.storage.pool_file import open_pool, save_pool
from luthier.synthetic.lists import _sentence_kernels as kernels
from luthier.synthetic.lists.language import make_language
from luthier.synthetic.lists.noisy_channel import DECIMALS, SyntheticLists, draw_derivations, write
from luthier.synthetic.lists.sentence import draw_decisions, draw_sentence

SMALL = SyntheticLists(sentences=40, k=30, vocabulary=300)


@pytest.fixture(scope="module")
def pool():
    return SMALL.generate(0)


@pytest.fixture(scope="module")
def language():
    return make_language(make_rng(SMALL.language), vocabulary=SMALL.vocabulary, n_candidates=SMALL.candidates)


def spelled(choice, decisions):
    """Return the words of a derivation, the plain way."""
    groups = [[w for w in decisions.words[slot, c] if w >= 0] for slot, c in enumerate(choice[: len(choice) // 2])]
    for slot, happens in enumerate(choice[len(choice) // 2 :]):
        if happens and decisions.swap_sites[slot]:
            groups[slot], groups[slot + 1] = groups[slot + 1], groups[slot]
    return [int(word) for group in groups for word in group]


def chain_sum(words, table):
    """Return the sum of the table along a sentence, the plain way."""
    path = [len(table) - 1, *(min(word, len(table) - 2) for word in words), len(table) - 1]
    return sum(table[a, b] for a, b in itertools.pairwise(path))


def test_same_seed_same_bytes_other_seed_other_lists(pool):
    again, other = SMALL.generate(0), SMALL.generate(1)
    assert again.digest() == pool.digest() != other.digest()
    assert json.dumps(again.provenance) == json.dumps(pool.provenance)


def test_sentences_do_not_depend_on_how_many_there_are(pool):
    first = dataclasses.replace(SMALL, sentences=7).generate(0)
    assert first.digest() == pool.take_sentences(range(7)).digest()


def test_the_lists_are_whole(pool, tmp_path):
    assert pool.features.names == ("lm", "channel", "direct", "lex", "length", "swaps", "oov", "rules",
                                   "noise_0", "noise_1")  # fmt: skip
    assert pool.n_sentences == len(pool.sources) == len(pool.references.texts) == 40
    assert pool.list_lengths.max() == 30
    assert np.isfinite(pool.features.dense).all()
    assert pool.provenance["parameters"]["vocabulary"] == 300
    assert pool.provenance["seed"] == 0
    save_pool(pool, tmp_path / "pool.arrow")
    assert open_pool(tmp_path / "pool.arrow").digest() == pool.digest()


def test_lists_are_in_the_order_of_the_decoders_score(pool):
    weights = np.array(list(SMALL.decoder_weights.values()))
    assert np.array_equal(pool.columns["score"], pool.scores(weights))
    assert np.array_equal(rerank(pool, weights), pool.offsets[:-1])
    within = np.setdiff1d(np.arange(1, pool.n_hypotheses), pool.offsets)
    assert (pool.columns["score"][within] <= pool.columns["score"][within - 1]).all()


def test_texts_tokens_and_vocabulary_agree(pool):
    for texts, tokens in ((pool.texts, pool.tokens), (pool.references.texts, pool.references.tokens)):
        vocab = Interner.of(pool.vocab)
        split = tokenize(texts, vocab)
        assert len(vocab) == len(pool.vocab)
        assert np.array_equal(split.offsets, tokens.offsets)
        assert np.array_equal(split.ids, tokens.ids)
    assert list(pool.texts)[:50] == [" ".join(text.split()) for text in list(pool.texts)[:50]]


def test_features_are_what_they_are_called(pool, language):
    assert np.array_equal(pool.features.column("length"), pool.tokens.lengths)
    unknown = [(pool.tokens[row] >= SMALL.vocabulary).sum() for row in range(pool.n_hypotheses)]
    assert np.array_equal(pool.features.column("oov"), unknown)
    lm = [chain_sum(pool.tokens[row].tolist(), language.scorer) for row in range(pool.n_hypotheses)]
    assert pool.features.column("lm") == pytest.approx(np.round(lm, DECIMALS), abs=1.01 * 10.0**-DECIMALS)


def test_lists_hold_near_duplicates_and_spurious_ambiguity(pool):
    lists = [list(pool.texts)[a:b] for a, b in itertools.pairwise(pool.offsets.tolist())]
    repeated = sum(len(texts) - len(set(texts)) for texts in lists) / pool.n_hypotheses
    assert 0.02 < repeated < 0.6
    longest = max(lists, key=lambda texts: len(texts[0]))
    first = set(longest[0].split())
    assert np.mean([len(first & set(text.split())) / len(first) for text in longest]) > 0.6
    distinct = np.unique(pool.features.dense, axis=0)
    assert len(distinct) == pool.n_hypotheses


def test_short_sentences_have_short_lists():
    pool = SyntheticLists(sentences=60, k=200, mean_length=3.0, vocabulary=200).generate(4)
    assert pool.list_lengths.min() < 50
    assert pool.list_lengths.max() == 200
    longer = pool.list_lengths[pool.sources.lengths > np.median(pool.sources.lengths)]
    assert pool.list_lengths.mean() < longer.mean()


@pytest.mark.parametrize("n_features", [1, 2, 5, 8, 13])
def test_any_number_of_features(n_features):
    pool = SyntheticLists(sentences=4, k=10, n_features=n_features, vocabulary=100).generate(0)
    assert pool.n_features == len(pool.features.names) == n_features


def test_a_redundant_feature_when_asked():
    spec = dataclasses.replace(SMALL, sentences=5, redundant=True)
    pool = spec.generate(0)
    assert pool.n_features == spec.n_features + 1
    assert np.array_equal(pool.features.column("rules2"), pool.features.column("rules") + 1)


def test_further_references_differ_only_by_synonyms(language):
    pool = dataclasses.replace(SMALL, n_references=3).generate(0)
    assert np.array_equal(pool.references.offsets, 3 * np.arange(41))
    meanings = np.concatenate([language.meanings, 10_000 + np.arange(len(pool.vocab) - SMALL.vocabulary)])
    changed = 0
    for sentence in range(40):
        first, *others = (pool.references.tokens[3 * sentence + r] for r in range(3))
        for other in others:
            assert np.array_equal(meanings[first], meanings[other])
            changed += int((first != other).sum())
    assert changed > 20


def test_language_is_shared_by_seeds():
    one, two = (dataclasses.replace(SMALL, sentences=2).generate(seed) for seed in (1, 2))
    other = dataclasses.replace(SMALL, sentences=2, language=1).generate(1)
    assert one.vocab == two.vocab
    assert one.vocab != other.vocab
    assert len(set(one.vocab)) == len(one.vocab)


def test_kernels_against_plain_python(language):
    for seed in range(6):
        rng = make_rng(seed)
        decisions = draw_decisions(language, rng, draw_sentence(language, rng, 2 + 3 * seed), n_noise=2)
        choices = draw_derivations(decisions, language.scorer, np.full(10, 0.2), 20, rng)
        assert len({tuple(choice) for choice in choices.tolist()}) == len(choices)
        assert decisions.open[np.arange(choices.shape[1]), choices].all()
        features = np.empty((len(choices), 10))
        lengths = np.empty(len(choices), dtype=np.int64)
        kernels.measure(
            choices,
            decisions.words,
            decisions.swap_sites,
            decisions.features,
            language.scorer,
            features,
            lengths,
        )
        for row, choice in enumerate(choices):
            words = spelled(choice, decisions)
            assert lengths[row] == len(words)
            local = sum(decisions.features[t, c] for t, c in enumerate(choice))
            assert features[row] == pytest.approx([chain_sum(words, language.scorer), *local])


def test_the_truth_is_among_the_derivations(language):
    rng = make_rng(11)
    for _ in range(10):
        sentence = draw_sentence(language, rng, 2)
        decisions = draw_decisions(language, rng, sentence, n_noise=0)
        choices = draw_derivations(decisions, language.scorer, np.zeros(8), 10**6, rng)
        assert len(choices) == decisions.n_derivations
        assert sentence.truth.tolist() in [spelled(choice, decisions) for choice in choices]


def test_files(pool, tmp_path):
    pool = dataclasses.replace(SMALL, n_references=2, sentences=6).generate(3)
    write(pool, tmp_path / "one" / "lists")
    write(pool, tmp_path / "two")
    files = sorted(path.name for path in (tmp_path / "two").iterdir())
    assert files == ["list.moses.gz", "refs.0.txt", "refs.1.txt", "source.txt", "weights.txt"]
    for name in files:
        assert (tmp_path / "two" / name).read_bytes() == (tmp_path / "one" / "lists" / name).read_bytes()
    second = (tmp_path / "two" / "refs.1.txt").read_text(encoding="utf-8").splitlines()
    assert second == [pool.references.of(sentence)[1] for sentence in range(6)]
    lines = gzip.decompress((tmp_path / "two" / "list.moses.gz").read_bytes()).decode().splitlines()
    assert [line.split(" ||| ")[1] for line in lines] == list(pool.texts)
    weights = dict(line.split() for line in (tmp_path / "two" / "weights.txt").read_text().splitlines())
    assert {name: float(value) for name, value in weights.items()} == SMALL.decoder_weights
    with pytest.raises(LuthierError, match="SyntheticLists"):
        write(dataclasses.replace(pool, provenance={}), tmp_path)


def test_parameters_have_domains():
    with pytest.raises(ParameterError, match="'k' parameter of synthetic must be an int"):
        SyntheticLists(k=0)


def bleu_of(pool, rows):
    references = [list(pool.references.texts)]
    return sacrebleu.corpus_bleu(selected_texts(pool, rows), references, tokenize="none", force=True).score


@pytest.mark.slow
def test_there_is_something_to_tune_for():
    """Hand-set weights give 25–55 BLEU; a few hundred guesses 4 more; the oracle clearly more still."""
    spec = SyntheticLists(sentences=150)
    pool, rng = spec.generate(1), np.random.default_rng(0)
    weights = np.array(list(spec.decoder_weights.values()))
    first = best = bleu_of(pool, rerank(pool, weights))
    for step in range(300):  # wide guesses, then narrow ones around the best so far
        guess = weights + rng.normal(0, 0.4 if step < 100 else 0.15, len(weights))
        score = bleu_of(pool, rerank(pool, guess))
        if score > best:
            best, weights = score, guess
    metric = sacrebleu.BLEU(tokenize="none", effective_order=True)
    texts, oracle = list(pool.texts), []
    for sentence, (a, b) in enumerate(itertools.pairwise(pool.offsets.tolist())):
        scores = [metric.sentence_score(text, pool.references.of(sentence)).score for text in texts[a:b]]
        oracle.append(a + int(np.argmax(scores)))
    oracle_score = bleu_of(pool, np.array(oracle))
    print(f"first-best {first:.1f}, tuned {best:.1f}, oracle {oracle_score:.1f}")  # noqa: T201
    assert 25 < first < 55
    assert best > first + 4
    assert oracle_score > best + 4
