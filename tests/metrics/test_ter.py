import numpy as np
import pytest
import sacrebleu
from against_sacrebleu import corpora, sentence_stats, sentence_values
from hypothesis import given, settings
from hypothesis import strategies as st
from sacrebleu.metrics.lib_ter import translation_edit_rate

from luthier.corpus.texts import Texts
from luthier.metrics import _ter_kernels as kernels
from luthier.metrics.batch import Batch
from luthier.metrics.methods.ter import Method as Ter
from oracles import edit_distance


def ter_of(pairs):
    """Return our statistics of pairs of word lists."""
    hyps, refs = ([" ".join(map(str, words)) for words in column] for column in zip(*pairs, strict=True))
    return Ter().stats(Batch.from_lines(hyps, [refs]))


def assert_equals_sacrebleu(pairs):
    theirs = [translation_edit_rate([*map(str, hyp)], [*map(str, ref)]) for hyp, ref in pairs]
    np.testing.assert_array_equal(ter_of(pairs), theirs)


def shuffled(rng, words, *, n_moves, p_replace, p_drop, vocabulary):
    """Return words with some blocks moved, some replaced and some left out."""
    words = list(words)
    for _ in range(n_moves):
        length, start = rng.integers(1, 12), rng.integers(0, len(words) + 1)
        block = words[start : start + length]
        del words[start : start + length]
        target = rng.integers(0, len(words) + 1)
        words[target:target] = block
    kept = [word for word in words if rng.random() >= p_drop]
    return [int(rng.integers(vocabulary)) if rng.random() < p_replace else int(word) for word in kept]


@given(corpora(), st.booleans(), st.booleans(), st.booleans(), st.booleans())
@settings(max_examples=100)
def test_equals_sacrebleu_under_every_option(corpus, case_sensitive, normalized, no_punct, asian_support):
    hyps, streams = corpus
    options = {
        "case_sensitive": case_sensitive,
        "normalized": normalized,
        "no_punct": no_punct,
        "asian_support": asian_support,
    }
    ours, theirs = Ter(**options), sacrebleu.TER(**options)
    stats = ours.stats(Batch.from_lines(hyps, streams))
    np.testing.assert_array_equal(stats, sentence_stats(theirs, hyps, streams))
    assert ours.score(stats.sum(axis=0)) == pytest.approx(theirs.corpus_score(hyps, streams).score, abs=1e-9)
    values = sentence_values(theirs, hyps, streams)
    np.testing.assert_allclose(ours.sentence_score(stats), values, rtol=0, atol=1e-9)


@given(
    st.integers(1, 6).flatmap(
        lambda vocabulary: st.lists(
            st.tuples(*[st.lists(st.integers(0, vocabulary), max_size=12)] * 2), min_size=1, max_size=8
        )
    )
)
@settings(max_examples=100)
def test_equals_sacrebleu_where_words_repeat(pairs):
    assert_equals_sacrebleu(pairs)


@given(st.integers(0, 2**32 - 1))
@settings(max_examples=20)
def test_equals_sacrebleu_where_blocks_have_moved(seed):
    rng = np.random.default_rng(seed)
    pairs = []
    for _ in range(6):
        vocabulary = int(rng.choice([4, 12, 100]))
        ref = rng.integers(0, vocabulary, rng.integers(1, 25)).tolist()
        n_moves = int(rng.integers(0, 5))
        hyp = shuffled(rng, ref, n_moves=n_moves, p_replace=0.1, p_drop=0.1, vocabulary=vocabulary)
        pairs.append((hyp, ref))
    assert_equals_sacrebleu(pairs)


# Long references take several machine words. Unlike texts, and lengths that differ much, meet the beam's
# edge; few words meet the limit of moves.
@pytest.mark.parametrize(
    "ref_len, vocabulary, p_replace, p_drop, extra",
    [
        (63, 1000, 0.1, 0.0, 0), (64, 1000, 0.2, 0.1, 0), (65, 1000, 0.1, 0.1, 0), (130, 5000, 0.1, 0.1, 0),
        (60, 150, 0.9, 0.0, 0), (70, 200, 0.8, 0.1, 5), (55, 60, 0.6, 0.0, 0),
        (40, 150, 0.2, 0.0, 60), (90, 200, 0.1, 0.6, 0), (120, 80, 0.2, 0.98, 0), (26, 8, 0.5, 0.1, 0),
        (2, 3, 0.0, 0.0, 150), (60, 5000, 0.0, 0.0, 0),
    ],
)  # fmt: skip
def test_equals_sacrebleu_on_long_texts(ref_len, vocabulary, p_replace, p_drop, extra):
    rng = np.random.default_rng(ref_len)
    ref = rng.integers(0, vocabulary, ref_len).tolist()
    hyp = shuffled(rng, ref, n_moves=3, p_replace=p_replace, p_drop=p_drop, vocabulary=vocabulary)
    assert_equals_sacrebleu([(hyp + rng.integers(0, vocabulary, extra).tolist(), ref)])


def test_the_beam_costs_edits_and_costs_us_the_same():
    """The common part lies 51 words off the diagonal: outside the beam, and too far for a move."""
    common = list(range(100, 153))
    hyp, ref = [*range(51), *common], [*common, *range(200, 251)]
    assert edit_distance(hyp, ref) == 102
    assert ter_of([(hyp, ref)]).tolist() == [[104, 104]]
    assert_equals_sacrebleu([(hyp, ref)])


@pytest.mark.parametrize("front, repeats, back, edits", [(12, 16, 4, 26), (12, 12, 8, 17)])
def test_the_round_that_reaches_the_limit_of_moves_does_not_count(front, repeats, back, edits):
    """Without the limit 7 edits would do; it is reached in the first round, or after some moves."""
    ref = [*range(front), *[50] * repeats, *range(100, 100 + back)]
    hyp = [*range(100, 100 + back), *[50] * (3 * repeats // 4), 51, 52, *range(front)]
    assert ter_of([(hyp, ref)]).tolist() == [[edits, len(ref)]]
    assert_equals_sacrebleu([(hyp, ref)])


def test_cases_worked_by_hand():
    cases = [
        ("d a b c", "a b c d"),  # "d" moves to the end
        ("a x c", "a b c"),  # one replaced
        ("b a d c", "a b c d"),  # two moves
        ("", "a b"),
        ("a b c", ""),
        ("", ""),
    ]
    stats = ter_of([(hyp.split(), ref.split()) for hyp, ref in cases])
    assert stats.tolist() == [[1, 4], [1, 3], [2, 4], [2, 2], [3, 0], [0, 0]]
    assert Ter().score(stats) == pytest.approx([25.0, 100 / 3, 50.0, 100.0, 100.0, 0.0])


def test_fewest_edits_over_the_mean_length():
    stats = Ter().stats(Batch.from_lines(["a b c"], [["a b"], ["x y z w"], ["c a b d"]]))
    assert stats.tolist() == [[1.0, 10 / 3]]


def test_repeated_hypotheses_of_a_list_have_equal_statistics():
    hyps = ["b a", "a b", "b a", "", "a b", "b a", ""]
    batch = Batch.of(
        texts=Texts.from_strings(hyps), offsets=[0, 5, 7],
        references=Texts.from_strings(["a b", "c a", "b a"]), reference_offsets=[0, 2, 3],
    )  # fmt: skip
    assert Ter().stats(batch)[:, 0].tolist() == [1, 0, 1, 2, 0, 0, 2]


def test_the_beam_is_called_idle_only_where_it_is():
    """Every cell that a path of `distance` edits can visit must lie in the beam of its row."""
    idle, of_row = (getattr(k, "py_func", k) for k in (kernels.beam_is_idle, kernels.beam_of_row))
    rng = np.random.default_rng(0)
    for n, m in rng.integers(1, 90, (300, 2)).tolist():
        distance = abs(n - m) + int(rng.integers(0, 50))
        if not idle(n, m, distance):
            continue
        for i in range(1, n + 1):
            low, high = of_row(i, n, m)
            visited = [j for j in range(m + 1) if abs(i - j) + abs((n - i) - (m - j)) <= distance]
            assert low <= min(visited)
            assert max(visited) < high
