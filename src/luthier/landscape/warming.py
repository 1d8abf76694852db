"""Small jobs that reach the kernels of this room, for `luthier.pipelines.warm`."""

from __future__ import annotations

from luthier.invented.lists.synthetic import SyntheticLists
from luthier.landscape.certified.certify import CertifyOptions, certify
from luthier.landscape.certified.windows import WindowOptions, feature_axes
from luthier.landscape.problem import Problem
from luthier.metrics.loading import load_metric


def search_boxes() -> None:
    """Bound the gain of a few boxes, along the axes and along principal ones."""
    problem = Problem.make(SyntheticLists(sentences=12, k=20).generate(0), load_metric("bleu"))
    start = problem.default_start()
    for principal in (False, True):
        space = WindowOptions(principal=principal).space(problem, feature_axes(problem, start, problem.names[:3]))
        certify(problem, space, start, CertifyOptions(limit=60))


JOBS = (search_boxes,)
