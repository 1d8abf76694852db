"""What every file in alignment/methods must keep to; a new aligner is tested without a new test."""

import dataclasses
import pickle

import numpy as np
import pytest

from luthier.alignment.aligner import align
from luthier.alignment.base import PACKAGE, aligner
from luthier.core.params import ParameterError
from luthier.core.plugins import available
from luthier.synthetic.pair.pair import PairGenerator

ALIGNERS = tuple(available(PACKAGE))
GARBAGE = (object(), "garbage", float("nan"), float("inf"), -1e300, None)


@pytest.fixture(params=ALIGNERS)
def name(request):
    return request.param


@pytest.fixture(scope="module")
def text():
    pairs = list(PairGenerator().pairs("train", 40, seed=1))
    return [str(pair.source) for pair in pairs], [str(pair.references[0]) for pair in pairs]


def test_it_has_a_line_of_help_and_says_its_name(name):
    assert available(PACKAGE)[name].help
    assert aligner(name).name == name
    assert aligner(name).spec.startswith(f"{name}(")
    assert pickle.loads(pickle.dumps(aligner(name))) == aligner(name)


def test_every_parameter_is_checked(name):
    for field in dataclasses.fields(aligner(name)):
        for value in GARBAGE:
            with pytest.raises(ParameterError, match=f"^the {field.name!r} parameter of "):
                aligner(name, **{field.name: value})


def test_threads_do_not_matter(name, text):
    one, two, many = (align(*text, name, threads=threads) for threads in (1, 2, 7))
    for other in (two, many):
        assert other.forward == one.forward
        assert other.backward == one.backward
        assert other.scores.tobytes() == one.scores.tobytes()
        assert other.model.forward.probabilities.tobytes() == one.model.forward.probabilities.tobytes()
        assert other.model.backward.own.tobytes() == one.model.backward.own.tobytes()


def test_the_order_of_pairs_does_not_matter(name, text):
    if aligner(name).draws:
        pytest.skip("links are drawn in the order of pairs")
    order = np.random.default_rng(0).permutation(len(text[0]))
    plain = align(*text, name)
    mixed = align([text[0][k] for k in order], [text[1][k] for k in order], name)
    np.testing.assert_allclose(mixed.scores, plain.scores[order], rtol=1e-8)
    # sums in another order may break a tie in another way, seldom
    same = sum(mixed.symmetrized()[at] == plain.symmetrized()[k] for at, k in enumerate(order))
    assert same >= 0.9 * len(order)


def test_links_lie_in_their_sentences(name, text):
    done = align(*text, name)
    for links in (done.forward, done.backward, done.symmetrized()):
        pair = np.repeat(np.arange(len(links)), links.counts)
        assert (links.source < done.bitext.source.lengths[pair]).all()
        assert (links.target < done.bitext.target.lengths[pair]).all()
    assert max(np.unique(done.forward.target[: done.forward.offsets[1]], return_counts=True)[1]) == 1
    assert np.isfinite(done.scores).all()
    assert (done.scores < 0).all()


@pytest.mark.parametrize("options", [{}, {"passes": 1}, {"alpha": 0.0}, {"alpha": 1e-9}, {"null": 0.0}, {"passes": 40}])
@pytest.mark.parametrize(
    "pairs",
    [
        [("a", "x")],
        [("a a a a", "x")],
        [("a", "x x x")] * 3,
        [("a b", "x y"), ("", "x"), ("a", "")],
        [(" ".join(f"w{k}" for k in range(100)), "x"), ("y", " ".join("abcde" * 20))],
    ],
)
def test_the_smallest_and_oddest_texts_have_links_and_finite_scores(name, options, pairs):
    done = align([s for s, _ in pairs], [t for _, t in pairs], name, **options)
    assert len(done.symmetrized()) == len(pairs)
    kept = done.bitext.kept
    assert np.isfinite(done.scores[kept]).all()
    assert np.isfinite(done.likelihoods).all()
    for parameters in (done.model.forward, done.model.backward):
        assert (parameters.probabilities > 0).all()
        assert (parameters.probabilities <= 1 + 1e-12).all()


def test_a_sentence_of_many_words_takes_no_more_than_it_should(name):
    source, target = " ".join(f"s{k % 90}" for k in range(500)), " ".join(f"t{k % 70}" for k in range(400))
    counts = align([source, "a"], [target, "b"], name).symmetrized().counts.tolist()
    assert counts == [0, 1] or (aligner(name).draws and counts == [0, 0])  # priors say more than one pair does
    assert (
        align([source, "a"], [target, "b"], name, max_words=500, passes=2, null=0.0).symmetrized("union").counts[0] > 0
    )
