"""The best epoch is kept, and what is said of the last one."""

import numpy as np
import pytest

from luthier.tuning.base import State, keep_best


def states(*gains):
    return [State(np.array([float(k)]), gain, f"round {k}: done" if k else "start") for k, gain in enumerate(gains)]


@pytest.mark.parametrize(
    ("gains", "kept", "note"),
    [
        ((1.0, 44.871, 44.25), 1, "round 1 kept; the last, round 2, has a gain of 44.25"),
        ((1.0, 2.0, 3.0), 2, "not converged: the last one, round 2, is the best; more may help"),
        ((3.0, 3.0, 1.0), 0, "start kept; the last, round 2, has a gain of 1"),  # of equal ones the earliest
        ((3.0,), 0, ""),
    ],
)
def test_the_best_is_kept_and_the_last_is_spoken_of(gains, kept, note):
    given = states(*gains)
    *passed, answer = keep_best(given)
    assert passed == given
    assert (answer.weights[0], answer.gain, answer.note) == (kept, gains[kept], note)
    assert answer.did == f"kept {given[kept].did}"


def test_of_nothing_nothing_is_kept():
    assert list(keep_best([])) == []
