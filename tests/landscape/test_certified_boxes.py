"""Boxes that are looked at together; also run with bounds checking, for the kernels index by what they found."""

import numpy as np
import pytest
from certified_problems import SPECS, draw_problem

from luthier.geometry.subspace import Subspace
from luthier.landscape.certified.box import Boxes
from luthier.landscape.certified.space import window_space

START = np.array([1.0, 0.0, -1.0])


@pytest.mark.compiled
@pytest.mark.parametrize("spec", SPECS)
def test_what_is_found_of_a_box_does_not_depend_on_the_others(spec):
    problem = draw_problem(spec, 3, whole=False, sentences=9, k=9)
    space = window_space(
        problem,
        Subspace(START, np.eye(3), ("f0", "f1", "f2")),
        np.array([[-1.0, 2.0], [-2.0, 2.0], [0.0, 1.0]]),
        principal=True,
    )
    boxes, rng = Boxes(problem, space), np.random.default_rng(4)
    everything, again = boxes.rows.all_open(), boxes.rows.all_open()
    ends = np.sort(rng.random((12, 2, 4)), axis=1)
    tasks = [
        (*(space.lows[0] + end * (space.highs[0] - space.lows[0]) for end in pair), given, limit)
        for pair, given, limit in zip(ends, [everything, again, everything] * 4, [np.inf, 40.0] * 6, strict=True)
    ]
    gain = problem.gain(START)
    for target in (-np.inf, gain - 5.0, gain, gain + 5.0):
        together = boxes.look(tasks, target)
        for task, found in zip(tasks, together, strict=True):
            alone = boxes.look([task], target)[0]
            assert (alone is None) == (found is None)
            if alone is not None:
                assert (alone.bound, alone.axis) == (found.bound, found.axis)
                for name in ("low", "high", "point", "sums"):
                    assert getattr(alone, name).tobytes() == getattr(found, name).tobytes()
                for one, other in zip(alone.open, found.open, strict=True):
                    assert one.tobytes() == other.tobytes()
