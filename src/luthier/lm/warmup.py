"""Small jobs that reach the kernels of this room, for `luthier.jobs.warm`."""

from __future__ import annotations

import tempfile
from pathlib import Path

from luthier.lm.arpa import write_arpa
from luthier.lm.estimate import EstimateOptions, estimate_lm
from luthier.lm.state import append, begin, join, key, new_states
from luthier.lm.storage import open_lm


def _models() -> None:
    texts = ["a b c a b", "b c a", "c c d"]
    with tempfile.TemporaryDirectory() as name:
        path = Path(name, "lm.arpa")
        write_arpa(estimate_lm(texts, EstimateOptions(order=3)).model, path)
        open_lm(path)
        model = open_lm(path)  # from the file that the first opening left
    model.score(texts)
    states = new_states(2, model.order)
    begin(model, states, 0)
    append(model, states, 1, 3)
    join(model, states, 0, states, 1)
    key(states, 0)


JOBS = (_models,)
