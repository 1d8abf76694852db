"""Confusion networks: cases worked by hand, and votes by weight."""

import numpy as np
import pytest

import luthier
from luthier.core.errors import LuthierError
from luthier.features.consensus.evidence import Evidence
from luthier.features.consensus.rover import rover


def pool_of(*lists):
    rows = [(i, text, float(k)) for i, texts in enumerate(lists) for k, text in enumerate(texts)]
    return luthier.pool_from_frame(
        {"id": [r[0] for r in rows], "hyp": [r[1] for r in rows], "lm": [r[2] for r in rows]}
    )


def test_each_slot_votes():
    # slots: a|a|a, b|x|b, c|c|y: the majority of each is no text of the list
    assert rover(pool_of(["a b c", "a x c", "z b y"])) == ["a b c"]
    # "very" opens a slot in which the two before have no word
    assert rover(pool_of(["a cat", "a dog", "a very dog"])) == ["a dog"]
    assert rover(pool_of(["a cat", "a very cat", "a very cat"])) == ["a very cat"]
    assert rover(pool_of(["a b", "b a"], ["one"])) == ["a b", "one"]  # a tie goes to what came first
    assert rover(pool_of(["a", "b"]).take([])) == [""]


def test_votes_weigh_as_the_evidence_does():
    pool = pool_of(["a b c", "a x c", "a y c"])
    heavy = rover(pool, Evidence(posterior=np.array([3.0])))
    assert heavy == ["a y c"]
    assert rover(pool, Evidence(first=1)) == ["a b c"]
    for wrong in (Evidence(leave_self_out=True), Evidence(posterior=np.ones(1), temperatures=(1.0, 2.0))):
        with pytest.raises(LuthierError, match="a confusion network"):
            rover(pool, wrong)


def test_more_slots_than_any_text_has_words():
    words = [f"w{k}" for k in range(60)]
    texts = [" ".join([*words[:k], "m", *words[k:]]) for k in range(0, 60, 2)]
    assert rover(pool_of(texts)) == [" ".join(words)]  # "m" has one vote of thirty in each of its slots
