"""Aligning by units: parts of a text and chains, whoever works on them, in whatever order they are done."""

import numpy as np
import pytest
from small_texts import TEXT, ways

from luthier.alignment import base
from luthier.alignment.aligner import align_bitext
from luthier.alignment.base import aligner, parts_of
from luthier.alignment.bitext import read_bitext
from luthier.core.errors import LuthierError
from luthier.core.tasks import deserialized, path_of, serialized
from luthier.jobs.align import align

SIDES = tuple([pair[side] for pair in TEXT] for side in range(2))
METHODS = {
    "model1": {}, "diagonal": {"optimize_tension": True}, "hmm": {"model1_passes": 2}, "fertility": {"passes": 2},
}  # fmt: skip


class Elsewhere:
    """An engine that gives units what travels, does the last first, and forgets nothing of what it was asked."""

    def __init__(self):
        self.done = []

    def results(self, work, given, units, stop):
        value = deserialized(serialized(given.value))
        for number in reversed(list(units)):
            unit = deserialized(serialized(units[number]))
            self.done.append((path_of(work), unit))
            yield number, deserialized(serialized(work(value, unit)))


class Interrupted:
    """An engine that is interrupted after its first unit."""

    def results(self, work, given, units, stop):
        number = next(iter(units))
        yield number, work(given.value, units[number])
        stop.set()


def bytes_of(alignment):
    learned = [getattr(alignment.model, side) for side in ("forward", "backward")]
    arrays = [getattr(one, name) for one in learned for name in ("probabilities", "null", "unseen", "own")]
    links = [getattr(alignment, side).source.tobytes() for side in ("forward", "backward")]
    return [array.tobytes() for array in arrays], links, alignment.scores.tobytes(), alignment.likelihoods


@pytest.mark.parametrize("cells", [1, 20, 10_000])
@pytest.mark.parametrize("method", METHODS)
def test_whoever_works_on_units_the_bytes_are_the_same(method, cells, monkeypatch):
    monkeypatch.setattr(base, "PART_CELLS", cells)
    chosen, bitext, engine = aligner(method, **METHODS[method]), read_bitext(*SIDES), Elsewhere()
    expected = bytes_of(align_bitext(bitext, chosen, threads=1))
    assert bytes_of(align_bitext(bitext, chosen, threads=4)) == expected
    assert bytes_of(align_bitext(bitext, chosen, engine=engine)) == expected
    assert [len(own) for own in expected[-1]] == [0 if method == "fertility" else chosen.training_passes] * 2
    parts = len(parts_of(ways(TEXT)[0][0]))
    assert parts == {1: len(TEXT), 20: 6, 10_000: 1}[cells]
    n_units = 2 * (chosen.training_passes if method == "fertility" else (chosen.training_passes + 1) * parts)
    assert len(engine.done) == n_units
    if method != "fertility":
        assert {(unit.first, unit.last) for _, unit in engine.done} == set(parts_of(ways(TEXT)[0][0]))


@pytest.mark.parametrize("method", ["model1", "diagonal", "hmm"])
def test_parts_add_up_to_the_whole(method, monkeypatch):
    chosen, bitext = aligner(method), read_bitext(*SIDES)
    whole = align_bitext(bitext, chosen)
    monkeypatch.setattr(base, "PART_CELLS", 1)
    parted = align_bitext(bitext, chosen)
    for side in ("forward", "backward"):
        one, other = getattr(whole.model, side), getattr(parted.model, side)
        np.testing.assert_allclose(one.probabilities, other.probabilities, rtol=1e-9)
        np.testing.assert_allclose(one.own, other.own, rtol=1e-9)
    np.testing.assert_allclose(np.array(whole.likelihoods), parted.likelihoods, rtol=1e-12)


@pytest.mark.parametrize("method", ["model1", "fertility"])
def test_an_interrupted_engine_ends_the_job(method):
    with pytest.raises(KeyboardInterrupt):
        align_bitext(read_bitext(*SIDES), aligner(method), engine=Interrupted())


def test_a_kept_model_needs_no_cluster(tmp_path):
    align(*SIDES, "model1", train=tmp_path / "model")
    with pytest.raises(LuthierError, match="applied by this machine alone"):
        align(*SIDES, apply=tmp_path / "model", engine=Elsewhere())
