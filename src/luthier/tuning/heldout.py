"""Which run is the answer, and what a held-out set has to say about it.

Few sentences tell the best of many vectors badly: whoever lets everything compete on them takes what they happen to
like. So the ends of runs compete, no state on the way, and a run counts as worse than the best on the held-out
sentences only where it is so by more than one standard error of the difference; among the others the tuning score,
which has seen more sentences, decides [breiman1984].
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

import numpy as np

from luthier.core.arrays import Float64
from luthier.landscape.problem import Problem

CERTAIN = 2.0  # standard errors beyond which a difference is called more than chance


@dataclasses.dataclass(frozen=True, eq=False)
class End:
    """What competes: an end of a run, its gain on the tuning sentences, and on the held-out ones."""

    weights: Float64
    gain: float
    heldout_gain: float


def choose_end(ends: Sequence[End], start: End, heldout: Problem) -> tuple[int, str]:
    """Return the number of the answer, and in a sentence where tuning and held-out sentences disagree, '' if not."""
    seen = np.array([end.heldout_gain for end in ends])
    gains = np.array([end.gain for end in ends])
    top = int(np.argmax(seen))
    # the start is compared too, for the sentence about it; it does not compete
    vectors = np.array([end.weights for end in (*ends, start)])
    to_top = heldout.errors_of_differences(vectors, top)[:-1]
    eligible = np.flatnonzero(seen >= seen[top] - to_top)
    answer = int(eligible[np.argmax(gains[eligible])])
    said = []
    tuned = int(np.argmax(gains))
    if tuned != answer and seen[tuned] < seen[top] - CERTAIN * to_top[tuned]:
        said.append(
            f"the run with the best tuning score is worse on the held-out sentences than another by "
            f"{seen[top] - seen[tuned]:.2f} (standard error {to_top[tuned]:.2f}): it was not taken"
        )
    to_start = float(heldout.errors_of_differences(vectors, len(ends))[answer])
    loss = start.heldout_gain - seen[answer]
    if loss > CERTAIN * to_start and ends[answer].gain > start.gain:
        said.append(
            f"tuning gained {ends[answer].gain - start.gain:.2f} on its own sentences and lost {loss:.2f} on the "
            f"held-out ones (standard error {to_start:.2f}): that is more than chance. hint: more sentences, fewer "
            "features, or a method that stays near its start (mert-regularized, fan-regularized)"
        )
    return answer, "; ".join(said)
