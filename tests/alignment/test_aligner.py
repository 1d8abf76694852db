"""The whole: both directions, threads, the true links of the generated language pair."""

import numpy as np
import pytest
from small_texts import TEXT

import luthier
from luthier.alignment.aligner import align
from luthier.alignment.links import Links
from luthier.alignment.summary import compare_links
from luthier.core.segments import offsets_from_counts
from luthier.synthetic.pair.pair import PairGenerator


def generated(count):
    """Return source, target and true links of generated pairs."""
    pairs = list(PairGenerator().pairs("train", count, seed=0))
    links = np.array([link for pair in pairs for link in pair.links])
    offsets = offsets_from_counts([len(pair.links) for pair in pairs])
    true = Links.from_unordered(offsets, links[:, 0], links[:, 1])
    return [str(pair.source) for pair in pairs], [str(pair.references[0]) for pair in pairs], true


def test_a_small_text_is_understood():
    found = luthier.align([s for s, _ in TEXT], [t for _, t in TEXT])
    done, links = found.alignment, found.links
    assert links[0] == [(0, 0), (1, 1)]
    assert links[1] == [(0, 0), (1, 1)]
    assert links[4] == [(0, 0)]
    assert len(done.likelihoods[0]) == len(done.likelihoods[1]) == 4
    assert done.symmetrized("union").counts.sum() >= links.counts.sum() >= done.symmetrized("intersect").counts.sum()


# With 600 pairs; docs/alignment.md has the figures of 10,000, and the command that makes them.
LIMITS = {"model1": 0.31, "diagonal": 0.30, "hmm": 0.295, "fertility": 0.25}


@pytest.fixture(scope="module")
def small_pair():
    return generated(600)


@pytest.mark.compiled
@pytest.mark.parametrize("method", LIMITS)
def test_links_are_near_the_truth(small_pair, method):
    source, target, true = small_pair
    found = align(source, target, method).symmetrized()
    assert compare_links(found, true).error_rate < LIMITS[method]


@pytest.mark.compiled
def test_scores_are_those_of_the_last_pass(small_pair):
    source, target, _ = small_pair
    shorter, longer = (align(source[:80], target[:80], "diagonal", passes=n) for n in (4, 5))
    # the scores of a run that ends after three passes add up to the likelihood its fourth begins with
    for side in range(2):
        assert shorter.scores[:, side].sum() == pytest.approx(longer.likelihoods[side][3])


@pytest.mark.compiled
def test_the_other_way_round_is_the_other_way_round(small_pair):
    source, target, _ = small_pair
    there, back = align(source[:60], target[:60]), align(target[:60], source[:60])
    assert there.forward == back.backward.reversed()
    assert there.backward == back.forward.reversed()
