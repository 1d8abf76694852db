"""Small jobs that reach the kernels of this room, for `luthier.jobs.warm`."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Iterator

import numpy as np

from luthier.core.plugins import available
from luthier.core.rng import make_rng
from luthier.geometry.lines.envelope import Envelopes
from luthier.kbest.features import Features
from luthier.landscape.problem import Problem
from luthier.metrics.loading import load_metric
from luthier.synthetic.lists.noisy_channel import SyntheticLists
from luthier.tuning.base import PACKAGE, Tuner, tuner

LITTLE = {"limit": 60}  # of steps or boxes, for those that go on for long


def tune_every_way() -> None:
    """Run every tuner, on dense and on sparse features, with a metric of counts and one of numbers."""
    dense = SyntheticLists(sentences=6, k=40).generate(0)
    f = dense.features
    rows = np.arange(len(f))
    sparse = Features(
        (*f.names, "s0", "s1"),
        f.dense,
        np.arange(len(f) + 1),
        (rows % 2).astype(np.int32),
        (1.0 + rows % 3).astype(np.float64),
    )
    axes = np.eye(dense.n_features)
    Envelopes(dense.offsets, f.dense).along_sorted(axes[0], axes[1:])
    for pool in (dense, dense.with_features(sparse)):
        for metric in ("bleu", "bleu_mean"):
            problem = Problem.make(pool, load_metric(metric))
            for method in _every_way():
                if not method.refuses(problem):
                    next(itertools.islice(method.steps(problem, problem.default_start(), make_rng(0)), 2, None), None)


def _every_way() -> Iterator[Tuner]:
    """Yield every tuner as it comes, and with each choice of each of its parameters."""
    for name in available(PACKAGE):
        plain = tuner(name)
        if any(field.name == "limit" for field in dataclasses.fields(plain)):
            plain = dataclasses.replace(plain, **LITTLE)
        yield plain
        for field in dataclasses.fields(plain):
            for choice in field.metadata.get("choices") or ():
                yield dataclasses.replace(plain, **{field.name: choice})


JOBS = (tune_every_way,)
